import { readBacklog } from '../../src/outbox/backlog';
import { binder, type Database } from '../../src/postgres/database';
import { cloneDatabase, type TestDatabase } from '../support/database';
import { enqueue, event, events } from '../support/events';

let database: TestDatabase;

beforeAll(async () => {
  database = await cloneDatabase(1);
});

afterAll(async () => {
  await database.drop();
});

test('counts what waits, apart from what is due later, and never what is done', async () => {
  const { db } = database;
  expect(await readBacklog(db)).toEqual({
    ...{ pending: 0, deferred: 0, processing: 0, retrying: 0, deadLettered: 0, lastId: null },
    ...{ due: 0, oldestDueMs: null, waitingDeliveries: 0, deadDeliveries: 0 },
  });
  const ids = await enqueue(db, events(6));
  await enqueue(db, [event({ availableAt: new Date(Date.now() + 3_600_000) })]);
  const set = (index: number, columns: string) =>
    db.query(`UPDATE :schema.event_queue SET ${columns} WHERE event_id = $1`, [ids[index]]);
  await set(0, `status = 'done', published_at = clock_timestamp()`);
  await set(1, `status = 'dead_lettered', failed_at = clock_timestamp()`);
  await set(2, `status = 'processing', claimed_at = clock_timestamp(), claim_token = 1`);
  await set(3, `status = 'deferred', retry_at = clock_timestamp() + interval '1 hour'`);
  await set(4, `available_at = clock_timestamp() - interval '90 seconds'`);
  const backlog = await readBacklog(db);
  expect(backlog).toMatchObject({ pending: 3, deferred: 1, processing: 1, deadLettered: 1, due: 2 });
  expect(backlog.oldestDueMs).toBeGreaterThanOrEqual(90_000);
  expect(backlog.oldestDueMs).toBeLessThan(150_000);
});

test('counts a row that has been due since ever, whose age no number gives', async () => {
  const own = await cloneDatabase(1);
  const [id] = await enqueue(own.db, events(1));
  await own.db.query(`UPDATE :schema.event_queue SET available_at = '-infinity' WHERE event_id = $1`, [id]);
  expect(await readBacklog(own.db)).toMatchObject({ pending: 1, due: 1, oldestDueMs: null });
  await own.drop();
});

test('reads indexes whose size is the backlog, not the history', async () => {
  const { db } = database;
  await db.query(
    `INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at)
     SELECT gen_random_uuid(), 'T', 'a', '1', '{}', 'done', clock_timestamp() FROM generate_series(1, 20000)`,
  );
  await db.query(`ANALYZE :schema.event_queue`);
  // One transaction on one connection, so that its own counters can be read at once.
  const client = await db.pool.connect();
  const bind = binder(db.schema);
  const inTransaction: Database = { ...db, query: (text, values) => client.query(bind(text), values) };
  const sequentialScans = async () => {
    const { rows } = await inTransaction.query<{ count: number }>(
      `SELECT seq_scan::integer AS count FROM pg_stat_xact_user_tables WHERE schemaname = $1 AND relname = 'event_queue'`,
      [db.schema],
    );
    return rows[0]?.count;
  };
  try {
    await client.query('BEGIN');
    const before = await sequentialScans();
    await readBacklog(inTransaction);
    expect(await sequentialScans()).toBe(before);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
});
