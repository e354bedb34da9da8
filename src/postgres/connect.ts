import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import type { Config } from '../config';
import type { Logger } from '../logger';
import { maskUrl } from '../mask';
import { within } from '../within';
import { checkVersion } from './checkVersion';
import { openDatabase, type Database } from './database';
import { migrateOrCheck } from './migrate';
import { whyRefused } from './refusal';
import { requirePrivileges } from './roles';

const RETRY_MS = 1_000;
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * Waits until PostgreSQL answers.
 *
 * @throws Error with one clear sentence when credentials, certificates or the database's name are wrong
 */
export async function connectDatabase(
  db: Database,
  config: Config,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (let tried = 0; ; tried++) {
    try {
      await db.query('/* outbox: ping */ SELECT 1');
      return;
    } catch (error) {
      const refused = whyRefused(error, config.databaseUrl, 'DATABASE_URL');
      if (refused) throw new Error(refused, { cause: error });
      if (tried === 0)
        logger.warn(
          `PostgreSQL at ${maskUrl(config.databaseUrl)} does not answer yet (${(error as Error).message}); trying again until it does`,
        );
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}

/**
 * Waits for PostgreSQL and migrates, on a connection of its own: a migration may take as long as it needs, and so may the
 * turn of another process. Told to stop, it waits for neither: the connection is cut, and what was not committed is not
 * done.
 *
 * @throws AbortError when `stopping` aborts
 */
export async function prepareDatabase(config: Config, logger: Logger, stopping: AbortSignal): Promise<void> {
  const db = openDatabase({ url: config.databaseUrl, schema: config.schema, poolSize: 1 });
  let client: PoolClient | undefined;
  db.pool.on('connect', (connected) => (client = connected));
  let cut = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    cut = () => reject(stopping.reason as Error);
    if (stopping.aborted) cut();
    else stopping.addEventListener('abort', cut, { once: true });
  });
  try {
    await Promise.race([stopped, prepare(db, config, logger, stopping)]);
  } finally {
    stopping.removeEventListener('abort', cut);
    // Else the pool would wait for the statement, and its socket would keep the process.
    if (stopping.aborted) void client?.end().catch(() => undefined);
    await within(CLOSE_TIMEOUT_MS, db.close());
  }
}

async function prepare(db: Database, config: Config, logger: Logger, stopping: AbortSignal): Promise<void> {
  await connectDatabase(db, config, logger, stopping);
  const warn = (message: string) => logger.warn(message);
  if (config.migrateAtStart) await migrateOrCheck(db, warn);
  else await checkVersion(db, warn);
  // Now, in one sentence: else the first claim would say it, in Temporal, again and again.
  await requirePrivileges(db);
}
