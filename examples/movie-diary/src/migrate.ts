import { Pool } from 'pg';
import { migrateDiary } from './adapters/postgres/migrate';
import { readSettings } from './settings';

/** Brings the application's own tables up to date: a step of a deployment, beside `outbox migrate`. */
async function main(): Promise<void> {
  const pool = new Pool({ connectionString: readSettings(process.env).databaseUrl, max: 1 });
  // The query that needs a lost connection fails by itself; without a listener the process would end without a sentence.
  pool.on('error', () => undefined);
  try {
    await migrateDiary(pool);
    process.stderr.write('The tables are up to date\n');
  } finally {
    await pool.end();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`The tables could not be brought up to date: ${(error as Error).message}\n`);
  process.exitCode = 1;
});
