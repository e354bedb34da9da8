import { missingSearchAttributes, registerCommands } from '../temporal/searchAttributes';
import { ok, unknown, warning, type Check } from './finding';

/** PERMISSION_DENIED and UNIMPLEMENTED, as gRPC numbers them. */
const REFUSALS: ReadonlySet<unknown> = new Set([7, 12]);

/** Only the list filters of Temporal's web page need them. */
export const searchAttributes: Check = {
  name: 'search attributes',
  look: async (patient) => {
    const { client, namespace } = await patient.temporal();
    const { ownServer, cloud } = registerCommands(namespace);
    try {
      const missing = await missingSearchAttributes(client.connection.operatorService, namespace);
      if (missing.length === 0) return [ok('The search attributes of delivery runs are registered.')];
      const names = missing.map(({ name }) => name);
      return [
        warning(
          `The search attributes ${names.join(', ')} are not registered, so runs cannot be filtered by them.`,
          `Run: ${ownServer.filter((command) => names.some((name) => command.includes(` ${name} `))).join(' && ')}`,
        ),
      ];
    } catch (error) {
      const { code, details, message } = error as Error & { code?: number; details?: string };
      const what = `Temporal does not tell which search attributes there are (${details ?? message}).`;
      // Managed Temporal never tells a worker's credentials; a check that fails for ever would soon be passed over.
      return [(REFUSALS.has(code) ? warning : unknown)(what, `On Temporal Cloud: ${cloud}`)];
    }
  },
};
