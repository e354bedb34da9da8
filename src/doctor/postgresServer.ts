import { maskUrl } from '../mask';
import { fault, ok, type Check } from './finding';

/** `gen_random_uuid()` without an extension came with it. */
const OLDEST = 130_000;

export const postgresServer: Check = {
  name: 'PostgreSQL',
  look: async ({ config, db }) => {
    const { rows } = await db.query<{ version: number; text: string; standby: boolean }>(
      `/* outbox: read server version */ SELECT current_setting('server_version_num')::integer AS version, current_setting('server_version') AS text,
              pg_is_in_recovery() AS standby`,
    );
    const [{ version, text, standby } = { version: 0, text: 'unknown', standby: false }] = rows;
    const where = `PostgreSQL ${text} at ${maskUrl(config.databaseUrl)}`;
    if (version < OLDEST) return [fault(`${where} is older than 13.`, 'Upgrade the server to PostgreSQL 13 or newer.')];
    if (standby) return [fault(`${where} is a standby, and takes no writes.`, 'Let DATABASE_URL name the primary.')];
    return [ok(`${where} answers.`)];
  },
};
