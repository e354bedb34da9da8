import { Pool } from 'pg';
import { createWorker } from 'temporal-outbox';
import { pooled } from './adapters/postgres/connection';
import { EVENTS } from './events';
import { createHandlers } from './handlers/createHandlers';
import { readSettings } from './settings';

/** The worker with this application's handlers, as a process of its own. */
async function main(): Promise<void> {
  const { databaseUrl } = readSettings(process.env);
  const pool = new Pool({ connectionString: databaseUrl, application_name: 'movie-diary worker' });
  pool.on('error', () => undefined);
  try {
    await createWorker({ handlers: createHandlers({ connection: pooled(pool) }), events: EVENTS }).run();
  } finally {
    await pool.end();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`The worker could not start: ${(error as Error).message}\n`);
  process.exitCode = 1;
});
