import { fault, ok, type Check } from './finding';

const NOT_FOUND = 5;

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
    return [ok(`Temporal ${serverVersion || 'of an unknown version'} at ${address} answers, namespace ${namespace}.`)];
  },
};
