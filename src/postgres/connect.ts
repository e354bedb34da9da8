import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config';
import type { Logger } from '../logger';
import { maskUrl } from '../mask';
import type { Database } from './database';
import { whyRefused } from './refusal';

const RETRY_MS = 1_000;

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
