import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config';
import type { Logger } from '../logger';
import { maskUrl } from '../mask';
import type { Database } from './database';

/** SQLSTATEs that no waiting mends: wrong credentials, no such role or database. */
const HOPELESS = new Set(['28P01', '28000', '3D000']);
const RETRY_MS = 1_000;

/**
 * Waits until PostgreSQL answers.
 *
 * @throws Error with one clear sentence when the credentials or the database's name are wrong
 */
export async function connectDatabase(
  db: Database,
  config: Config,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (let tried = 0; ; tried++) {
    try {
      await db.query('SELECT 1');
      return;
    } catch (error) {
      const { code, message } = error as Error & { code?: string };
      const where = `PostgreSQL at ${maskUrl(config.databaseUrl)}`;
      if (code !== undefined && HOPELESS.has(code))
        throw new Error(`${where} refused: ${message}. Check DATABASE_URL.`, { cause: error });
      if (tried === 0) logger.warn(`${where} does not answer yet (${message}); trying again until it does`);
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}
