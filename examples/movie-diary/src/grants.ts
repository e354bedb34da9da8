import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Pool } from 'pg';
import { pooled } from './adapters/postgres/connection';

/**
 * Gives the roles of server, worker and operator what they may do, after each migration and as the owner of the tables:
 * server and worker read and write this application's own, and of the outbox's each role has what `outbox migrate --roles`
 * prints. In one transaction, so that no role has more in between.
 */
async function main([server, worker, operator]: readonly string[]): Promise<void> {
  if (!server || !worker || !operator) throw new Error('name the roles of server, worker and operator');
  const roles = ['--app-role', server, '--worker-role', worker, '--operator-role', operator];
  const { stdout } = await promisify(execFile)('outbox', ['migrate', '--roles', '--json', ...roles]);
  // After its own, since they stand in the same schema: the printed statements begin by taking all of the outbox's away.
  const { statements } = JSON.parse(stdout) as { statements: string[] };
  const both = [server, worker].map((role) => `"${role.replaceAll('"', '""')}"`).join(', ');
  const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 1 });
  // The query that needs a lost connection fails by itself; without a listener the process would end without a sentence.
  pool.on('error', () => undefined);
  try {
    await pooled(pool).transaction(async (tx) => {
      await tx.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${both}`);
      await tx.query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${both}`);
      for (const statement of statements) await tx.query(statement);
    });
    process.stderr.write('The roles have what they need\n');
  } finally {
    await pool.end();
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`The roles could not be given what they need: ${(error as Error).message}\n`);
  process.exitCode = 1;
});
