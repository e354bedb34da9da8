import { HttpRemoteActors } from './adapters/http/remoteActors';
import { HttpSenders } from './adapters/http/senders';
import { pooled } from './adapters/postgres/connection';
import { PostgresStoredActors } from './adapters/postgres/remoteActors';
import { repositories } from './adapters/postgres/repositories';
import { openServerPool } from './adapters/postgres/serverPool';
import { buildServer } from './server/app';
import { readSettings } from './settings';

/**
 * The HTTP server as a process of its own. It knows PostgreSQL only: it starts and serves while NATS and Temporal are
 * down, and what it writes meanwhile is handled when they are back.
 */
async function main(): Promise<void> {
  const { databaseUrl, origin, host, port } = readSettings(process.env);
  const pool = openServerPool(databaseUrl);
  const connection = pooled(pool);
  const senders = new HttpSenders(new HttpRemoteActors(new PostgresStoredActors(connection)));
  const app = await buildServer({ ...repositories(connection), origin, senders }, { level: 'warn' });
  const stop = async () => {
    try {
      await app.close();
      await pool.end();
    } catch (error) {
      process.stderr.write(`The server could not stop as it should: ${(error as Error).message}\n`);
      process.exit(1);
    }
  };
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => void stop());
  await app.listen({ host, port });
  process.stderr.write('The server is ready\n');
}

main().catch((error: unknown) => {
  process.stderr.write(`The server could not start: ${(error as Error).message}\n`);
  process.exitCode = 1;
});
