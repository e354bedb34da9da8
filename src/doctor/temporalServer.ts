import { fault, ok, type Check, type Found } from './finding';

const NOT_FOUND = 5;
/** A pinned run learns of a new current version, and moves at a continue-as-new, from this one on (ADR 0023). */
const VERSIONING_SINCE = [1, 29, 1] as const;

export const temporalServer: Check = {
  name: 'Temporal',
  look: async (patient) => {
    const { client, address, namespace } = await patient.temporal();
    const { serverVersion } = await client.workflowService.getSystemInfo({});
    try {
      await client.workflowService.describeNamespace({ namespace });
    } catch (error) {
      if ((error as { code?: unknown }).code !== NOT_FOUND) throw error;
      return [
        fault(
          `Temporal at ${address} has no namespace ${namespace}.`,
          `Set TEMPORAL_NAMESPACE, or run: temporal operator namespace create --namespace ${namespace}`,
        ),
      ];
    }
    return [
      judgeServer(serverVersion ?? '', `${address} answers, namespace ${namespace}`, patient.config.worker.buildId),
    ];
  },
};

/** @param buildId OUTBOX_BUILD_ID, which asks more of the server */
export function judgeServer(version: string, where: string, buildId: string | undefined): Found {
  const text = `Temporal ${version || 'of an unknown version'} at ${where}`;
  const parts = /^(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number);
  const differs = VERSIONING_SINCE.findIndex((least, index) => parts?.[index] !== least);
  const older = parts !== undefined && differs >= 0 && parts[differs]! < VERSIONING_SINCE[differs]!;
  if (buildId === undefined || !older) return ok(`${text}.`);
  return fault(
    `${text}; OUTBOX_BUILD_ID is set, and worker versioning needs ${VERSIONING_SINCE.join('.')} or newer: relay and consumer would never leave their build.`,
    'Upgrade the server, or start all workers without OUTBOX_BUILD_ID.',
  );
}
