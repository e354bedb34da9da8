import type { Pool } from 'pg';
import { enqueueEvents, type NewEvent, type Queryable } from 'temporal-outbox/producer';

/** What a repository needs: statements on their own, and several in one transaction. */
export interface Connection {
  readonly db: Queryable;
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
}

/** Every transaction is one of its own. For the server, and for handlers whose effects lie elsewhere. */
export function pooled(pool: Pick<Pool, 'connect' | 'query'>): Connection {
  return {
    db: pool,
    transaction: async (work) => {
      const client = await pool.connect();
      let broken: Error | undefined;
      // One that is lost between two statements says so by an event, which would end the process if nobody listened.
      const onError = (error: Error) => (broken = error);
      client.on('error', onError);
      try {
        await client.query('BEGIN');
        const result = await work(client);
        await client.query('COMMIT');
        return result;
      } catch (error) {
        await client.query('ROLLBACK').catch((rollback: unknown) => (broken = rollback as Error));
        throw error;
      } finally {
        client.off('error', onError);
        // A connection that could not roll back may still hold the transaction: it is closed, not given to the next.
        client.release(broken);
      }
    },
  };
}

/** Everything happens in the transaction of a transactional handler, and commits with its entry in the ledger. */
export function joined(tx: Queryable): Connection {
  return { db: tx, transaction: (work) => work(tx) };
}

/** The events of a change, in its transaction. */
export async function write(tx: Queryable, ...events: readonly (readonly NewEvent[])[]): Promise<void> {
  await enqueueEvents(tx, events.flat());
}
