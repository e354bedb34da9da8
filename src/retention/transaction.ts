import type { Runner } from '../ledger/finish';
import { binder, type Database } from '../postgres/database';

/** Whatever a table holds, no statement of a clean-up runs for longer; the batches are far smaller (C49). */
export const STATEMENT_TIMEOUT_MS = 2_000;

/**
 * Each statement sees what was committed until then, whatever the role's default: a removal must see what was written since
 * the look. Settings of the transaction alone, so that a pooler may hand the connection on. What a crash takes back is removed
 * again, so no commit has to wait for the disk, and none stands in the way of those that do.
 */
const BEGIN = `/* outbox: begin prune */ BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET LOCAL synchronous_commit = off`;

/** Runs the statements of one batch; afterwards the connection belongs to others. */
export async function inShortTransaction<T>(db: Database, work: (run: Runner) => Promise<T>): Promise<T> {
  const client = await db.pool.connect();
  const bind = binder(db.schema);
  let broken: Error | undefined;
  const onError = (error: Error) => (broken = error);
  client.on('error', onError);
  try {
    await client.query(BEGIN);
    const result = await work((text, values) => client.query(bind(text), values));
    await client.query('/* outbox: commit prune */ COMMIT');
    return result;
  } catch (error) {
    // A connection that cannot even roll back must not be used again.
    await client.query('/* outbox: roll back prune */ ROLLBACK').catch((reason: Error) => (broken = reason));
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}
