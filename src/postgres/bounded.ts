import { binder, type Database } from './database';

/**
 * Reads in a transaction whose statements PostgreSQL itself ends after `ms`: for what may take long and is not worth it.
 * A time-out of ours alone would leave the statement running.
 */
export async function bounded<T>(db: Database, ms: number, read: (db: Database) => Promise<T>): Promise<T> {
  const client = await db.pool.connect();
  const bind = binder(db.schema);
  let broken: Error | boolean = true;
  // Outside the pool nobody else listens: a connection that ends between two statements would end the process (C38).
  const onError = (error: Error) => (broken = error);
  client.on('error', onError);
  try {
    await client.query(`/* outbox: begin reading */ BEGIN READ ONLY; SET LOCAL statement_timeout = ${Math.ceil(ms)}`);
    try {
      return await read({ ...db, query: (text, values) => client.query(bind(text), values) });
    } finally {
      await client.query('/* outbox: end reading */ ROLLBACK');
      broken = false;
    }
  } finally {
    client.off('error', onError);
    // One whose transaction may still be open must not go back into the pool.
    client.release(broken);
  }
}
