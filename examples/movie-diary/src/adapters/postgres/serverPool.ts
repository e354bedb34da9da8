import { Pool } from 'pg';

/** Longer than any transaction of this application takes, and short enough for a client that waits. */
const LOCK_TIMEOUT_MS = 5_000;
/** More than that, so that a connection which waits for a lock is free again before somebody gives up on getting one. */
const CONNECTION_TIMEOUT_MS = 10_000;

/**
 * The connections of the server. Nobody waits for ever, neither for a lock nor for a connection: requests that wait for
 * one thing would otherwise hold every connection, and with them all the other routes.
 */
export function openServerPool(connectionString: string): Pool {
  const pool = new Pool({
    connectionString,
    application_name: 'movie-diary server',
    connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
  });
  // A connection that dies while idle is replaced at the next query; without a listener it would end the process.
  pool.on('error', () => undefined);
  return pool;
}
