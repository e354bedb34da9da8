import { MigrationError } from '../errors';
import { checkVersion } from '../postgres/checkVersion';
import { fault, ok, unknown, warning, type Check, type Found } from './finding';

export const schemaVersion: Check = {
  name: 'tables',
  look: async ({ db }) => {
    const newer: Found[] = [];
    try {
      await checkVersion(db, (message) => newer.push(warning(message, 'Upgrade this build when the others are.')));
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error;
      if (error.kind === 'unreadable') return [unknown(error.message)];
      const command = error.kind === 'newer-database' ? 'Run the newer build.' : `Run: OUTBOX_SCHEMA=${db.schema} outbox migrate`; // prettier-ignore
      return [fault(error.message, command)];
    }
    return newer.length > 0 ? newer : [ok(`The tables of schema ${db.schema} are those of this build.`)];
  },
};
