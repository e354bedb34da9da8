import type { Pool } from 'pg';
import type { HandledEvent, Handler } from 'temporal-outbox';

/** A transaction that stays open between the events of a transactional handler, as a worker's does. */
export async function openTransaction(pool: Pool, handlers: readonly Handler[], name: string) {
  const handler = handlers.find((candidate) => candidate.name === name);
  if (!handler?.transactional) throw new Error(`There is no transactional handler ${name}`);
  const client = await pool.connect();
  await client.query('BEGIN');
  return {
    async run(event: HandledEvent, signal = new AbortController().signal): Promise<void> {
      await handler.run(event, { tx: client, signal, attempt: 1 });
    },
    async end(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
      await client.query(how);
      client.release();
    },
  };
}
