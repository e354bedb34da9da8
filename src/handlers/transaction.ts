import type { PoolClient, QueryResultRow } from 'pg';
import { finishLedger, type Runner } from '../ledger/finish';
import type { Database } from '../postgres/database';
import { isOutage } from '../postgres/outage';
import type { Transaction } from './defineHandler';
import { controlsTransaction } from './transactionControl';

/** An error of the handler; refused before it is sent, or found by what it did. */
class TransactionEndedError extends Error {
  constructor() {
    super('the transaction of a handler commits with the ledger: do not begin, commit or roll back in it');
    this.name = 'TransactionEndedError';
  }
}

/** Rolls back without being an error of the handler: the claim was lost, or the group is to be repeated. */
export class RollBack extends Error {}

/** The connection went while a transaction was open on it: whatever was thrown, its handler may not be at fault. */
export class ConnectionLostError extends Error {
  constructor(cause: unknown) {
    super('the connection to PostgreSQL was lost in the transaction', { cause });
    this.name = 'ConnectionLostError';
  }
}

/** In one attempt. A handler that ends its own connection would otherwise be run again for ever, and never charged. */
export const MAX_LOST_CONNECTIONS = 3;

/** A statement failed after the handler had ended, too late for anybody to hear of it: nothing was committed. */
class RolledBackError extends Error {
  constructor() {
    super('a statement that the handler did not wait for has failed: await everything that a handler starts');
    this.name = 'RolledBackError';
  }
}

/** A handler has its own time-out; this only ends a statement of one that has been cut off and forgotten. */
const STATEMENT_SLACK_MS = 10_000;

export interface OpenTransaction {
  /** What the handler gets. */
  readonly tx: Transaction;
  /** For our own statements in it. */
  readonly run: Runner;
  /** The handler ended the transaction by itself: nothing may be written in it any more, the ledger least of all. */
  readonly ended: () => Error | undefined;
  /** No statement passes any more: a handler that goes on after its end must not write into what comes next. */
  close(): void;
}

/**
 * Runs `work` in a transaction that commits with it. The connection is not used again when the transaction's end is
 * unknown or something in it may still be under way.
 *
 * @throws what `work` or the commit threw, or ConnectionLostError; nothing of it is there then, but for a commit whose
 *   answer was lost
 */
export async function inTransaction<T>(
  db: Database,
  timeoutMs: number,
  work: (open: OpenTransaction) => Promise<T>,
): Promise<T> {
  const client = await db.pool.connect().catch((error: unknown) => {
    throw isOutage(error) ? new ConnectionLostError(error) : error;
  });
  let broken: Error | undefined;
  let lost = false;
  const onError = (error: Error) => {
    broken = error;
    lost = true;
  };
  client.on('error', onError);
  const open = openOn(client, db, timeoutMs);
  try {
    await client.query(begin(timeoutMs));
    const result = await work(open);
    open.close();
    const { command } = await client.query('/* outbox: commit handler */ COMMIT');
    // PostgreSQL answers the commit of a transaction that a statement has failed in by rolling it back, without an error.
    if (command !== 'COMMIT') throw new RolledBackError();
    return result;
  } catch (error) {
    open.close();
    // A handler that was cut off may have a statement under way; waiting for it would wait for the handler.
    if (open.pending()) broken ??= new Error('a statement of a handler was still under way');
    if (!broken) await client.query('/* outbox: roll back handler */ ROLLBACK').catch(onError);
    throw lost ? new ConnectionLostError(error) : error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

/**
 * The server's own limits, for a handler that was cut off and for a worker that froze or vanished: either would leave a
 * transaction whose locks the next attempt waits for.
 */
function begin(timeoutMs: number): string {
  return `/* outbox: begin handler */ BEGIN; SET LOCAL statement_timeout = ${timeoutMs + 1_000}; SET LOCAL idle_in_transaction_session_timeout = ${timeoutMs + 5_000}`;
}

function openOn(client: PoolClient, db: Database, timeoutMs: number): OpenTransaction & { pending(): boolean } {
  let closed = false;
  let pending = 0;
  let ended: Error | undefined;
  const send = async (query: { text: string; values?: unknown[] }) => {
    if (closed) throw new Error("the handler's transaction is over: await everything that a handler starts");
    if (ended) throw ended;
    pending++;
    try {
      // The pool's own limit is for our statements; a handler has its own time.
      return await client.query({ ...query, query_timeout: timeoutMs + STATEMENT_SLACK_MS } as {
        text: string;
        values?: unknown[];
      });
    } finally {
      pending--;
      if (client.getTransactionStatus() === 'I') ended = new TransactionEndedError();
    }
  };
  const tx: Transaction = {
    query: async (query: string | { text: string; values?: unknown[] }, values?: unknown[]) => {
      const given = typeof query === 'string' ? { text: query, ...(values && { values }) } : query;
      if (controlsTransaction(given.text)) throw new TransactionEndedError();
      const result = await send(given);
      if (ended) throw ended;
      return result;
    },
  };
  const run: Runner = async <Row extends QueryResultRow>(text: string, values: unknown[]) => {
    if (ended) throw ended;
    return client.query<Row>(db.prepare(text, values));
  };
  return { tx, run, ended: () => ended, close: () => void (closed = true), pending: () => pending > 0 };
}

/** @throws RollBack when one of the claims is not ours any more */
export async function finishOrRollBack(run: Runner, claims: Parameters<typeof finishLedger>[1]): Promise<void> {
  if ((await finishLedger(run, claims)).size !== claims.length) throw new RollBack('a ledger claim was lost');
}
