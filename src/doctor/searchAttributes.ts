import { missingSearchAttributes, registerCommands } from '../temporal/searchAttributes';
import { ok, unknown, warning, type Check } from './finding';

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
      const reason = (error as { details?: string }).details ?? (error as Error).message;
      return [
        unknown(`Temporal does not tell which search attributes there are (${reason}).`, `On Temporal Cloud: ${cloud}`),
      ];
    }
  },
};
