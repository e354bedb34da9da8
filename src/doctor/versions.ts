import { temporal } from '@temporalio/proto';
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { setCurrentCommand } from '../temporal/versioning';
import { usesNats, type Check, type Patient } from './finding';
import { describe } from './runs';
import { judgeVersions, type Versions } from './versionsJudgement';

const { TASK_QUEUE_TYPE_WORKFLOW } = temporal.api.enums.v1.TaskQueueType;
const { WORKER_VERSIONING_MODE_VERSIONED } = temporal.api.enums.v1.WorkerVersioningMode;
const { VERSIONING_BEHAVIOR_PINNED } = temporal.api.enums.v1.VersioningBehavior;

/** NOT_FOUND: nobody has polled as a version yet. UNIMPLEMENTED: the server knows no deployments. */
const NO_DEPLOYMENT: readonly unknown[] = [5, 12];
/**
 * A poll lasts a minute at most, and Temporal remembers its worker for five: who has polled so much longer ago than another
 * is gone. Only times of Temporal's own clock are compared.
 */
const GONE_AFTER_MS = 150_000;

/** Whether a build is the current version, and whether what is pinned to one still has workers. */
export const versions: Check = {
  name: 'worker versioning',
  look: async (patient) => judgeVersions(await readVersions(patient)),
};

/** @param goneAfterMs for tests, which wait no minutes */
export async function readVersions(
  { config, temporal: connect }: Pick<Patient, 'config' | 'temporal'>,
  goneAfterMs = GONE_AFTER_MS,
): Promise<Versions> {
  const { client, namespace } = await connect();
  const { deploymentName, buildId: own } = config.worker;
  const ids: [name: string, workflowId: string][] = [['relay', config.relayWorkflowId]];
  if (usesNats(config)) ids.push(['consumer', config.consumerWorkflowId]);
  const [current, pollers, runs] = await Promise.all([
    currentBuild(client, namespace, deploymentName),
    readPollers(client, namespace, config.taskQueue, goneAfterMs),
    Promise.all(
      ids.map(async ([name, workflowId]) => ({
        name,
        workflowId,
        build: pinnedTo(await describe(client, workflowId)),
      })),
    ),
  ]);
  const command = (buildId: string) =>
    setCurrentCommand({ ...config, worker: { ...config.worker, buildId } }, namespace);
  return { namespace, deploymentName, own, current, ...pollers, runs, command };
}

/** @returns null when no build is current: then workers without a build have the work */
async function currentBuild(client: Client, namespace: string, deploymentName: string): Promise<string | null> {
  try {
    const { workerDeploymentInfo: info } = await client.workflowService.describeWorkerDeployment({
      ...{ namespace, deploymentName },
    });
    return info?.routingConfig?.currentDeploymentVersion?.buildId ?? null;
  } catch (error) {
    if (NO_DEPLOYMENT.includes((error as { code?: unknown }).code)) return null;
    throw error;
  }
}

async function readPollers(client: Client, namespace: string, queue: string, goneAfterMs: number) {
  const { pollers } = await client.workflowService.describeTaskQueue({
    ...{ namespace, taskQueue: { name: queue }, taskQueueType: TASK_QUEUE_TYPE_WORKFLOW },
  });
  const seen = (pollers ?? []).map(({ lastAccessTime, deploymentOptions }) => ({
    at: Number(lastAccessTime?.seconds ?? 0) * 1_000 + (lastAccessTime?.nanos ?? 0) / 1e6,
    build:
      deploymentOptions?.workerVersioningMode === WORKER_VERSIONING_MODE_VERSIONED ? deploymentOptions.buildId : null,
  }));
  const newest = Math.max(...seen.map(({ at }) => at));
  const here = seen.filter(({ at }) => newest - at <= goneAfterMs).map(({ build }) => build);
  return {
    polling: new Set(here.filter((build) => typeof build === 'string')),
    unversioned: here.includes(null),
  };
}

/** The build that a run waits for; null when it is open and goes on with any. An operator's override comes first. */
function pinnedTo(run: WorkflowExecutionDescription | undefined): string | null {
  const { versioningInfo } = run?.raw.workflowExecutionInfo ?? {};
  if (run?.status.name !== 'RUNNING' || !versioningInfo || versioningInfo.versioningOverride?.autoUpgrade) return null;
  const override = versioningInfo.versioningOverride?.pinned?.version?.buildId;
  if (override) return override;
  return versioningInfo.behavior === VERSIONING_BEHAVIOR_PINNED
    ? (versioningInfo.deploymentVersion?.buildId ?? null)
    : null;
}
