import type { PoolClient } from 'pg';
import type { Config } from '../config';
import { MigrationError } from '../errors';
import { maskUrl } from '../mask';
import { openDatabase, type Database } from '../postgres/database';
import { whyRefused } from '../postgres/refusal';
import { CommandFailure, sentenceOf } from './failure';

/** A person waits: sooner than the 10 s that a worker gives a slow server. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Runs a verb's work on a pool of one connection, and says what is wrong with the database in one sentence. */
export async function withDatabase<T>(config: Config, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openDatabase({
    url: config.databaseUrl,
    schema: config.schema,
    poolSize: 1,
    applicationName: 'temporal-outbox cli',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  let client: PoolClient | undefined;
  db.pool.on('connect', (connected) => (client = connected));
  try {
    return await work(db);
  } catch (error) {
    throw explained(error, config);
  } finally {
    // A verb that has ended and left a statement under way waits for it no more; the pool would, for ever.
    if (db.pool.idleCount < db.pool.totalCount) void client?.end().catch(() => undefined);
    await db.close().catch(() => undefined);
  }
}

/** What PostgreSQL or the network said, with the way out. Any other error is returned as it is. */
export function explained(error: unknown, config: Config): unknown {
  if (error instanceof CommandFailure) return error;
  const failed = error instanceof MigrationError && error.cause !== undefined ? error.cause : error;
  const code = (failed as { code?: unknown } | null)?.code;
  const text = sentenceOf(failed);
  const where = `PostgreSQL at ${maskUrl(config.databaseUrl)}`;
  const because = (message: string) => new CommandFailure(message, undefined, { cause: error });
  const refused = whyRefused(failed, config.databaseUrl, 'DATABASE_URL');
  if (refused) return because(refused);
  switch (code) {
    case '42P01':
    case '3F000':
    case '42703':
      return because(
        `${where} lacks the outbox tables of this build in schema ${config.schema}: run \`outbox migrate\`.`,
      );
    case '42501':
      return because(`${where} refused: ${text}. Grant it, or use a role that may, in DATABASE_URL.`);
    default:
      if (isAway(code, text))
        return because(`${where} cannot be reached (${text}): check that it runs, and DATABASE_URL.`);
      return error;
  }
}

function isAway(code: unknown, text: string): boolean {
  if (typeof code === 'string' && /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EHOSTUNREACH|EPIPE|ENOENT|57P0|08|53)/.test(code)) {
    return true;
  }
  return /^(Connection terminated|timeout exceeded when trying to connect|timeout expired)/.test(text);
}
