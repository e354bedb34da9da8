import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '../../src/postgres/migrate';
import { openDatabase, type Database } from '../../src/postgres/database';
import { blocksOf, ROOT } from '../support/markdown';
import { emptyDatabase, type TestDatabase } from '../support/database';

/** docs/migrating.md, its statements as they stand there, each way of migration with rows before, meanwhile and after. */
const path = 'docs/migrating.md';
const statements = blocksOf({ path, text: readFileSync(join(ROOT, path), 'utf8') })
  .filter(({ language }) => language === 'sql')
  .map(({ text }) => text);

function statement(...parts: string[]): string {
  const found = statements.filter((text) => parts.every((part) => text.includes(part)));
  if (found.length !== 1) throw new Error(`${found.length} statements of ${path} hold ${parts.join(', ')}`);
  used.add(found[0]!);
  return found[0]!;
}
const used = new Set<string>();

describe('docs/migrating.md', () => {
  let database: TestDatabase;
  let db: Database;
  beforeEach(async () => {
    database = await emptyDatabase();
    db = database.db;
  });
  afterEach(() => database.drop());

  const ids = async () =>
    (await db.query<{ event_id: string }>('SELECT event_id FROM event_queue ORDER BY id')).rows.map(
      (row) => row.event_id,
    );
  const derived = async (text: string) =>
    (await db.query<{ id: string }>('SELECT md5($1)::uuid AS id', [text])).rows[0]!.id;

  it('takes a legacy event_queue over under ids that the poller’s messages had, with what it had in hand', async () => {
    await db.query(readFileSync(join(ROOT, 'migrations/0001_event_queue.sql'), 'utf8').replaceAll(':schema', 'public'));
    await db.query(
      `INSERT INTO event_queue (event_type, aggregate_type, aggregate_id, payload, status, published_at)
       SELECT 'Paid', 'order', n::text, '{}', (ARRAY['pending', 'processing', 'done'])[1 + n % 3], now() FROM generate_series(1, 9) n`,
    );
    await db.query(statement('ADD COLUMN IF NOT EXISTS event_id'));
    await db.query(statement(`SET status = 'pending' WHERE status = 'processing'`));
    await migrate(db);
    expect((await ids())[6]).toBe(await derived('orders.outbox:7'));
    expect((await db.query<{ id: string }>(statement(`'orders.outbox:' || 4711`))).rows).toEqual([
      { event_id: await derived('orders.outbox:4711') },
    ]);
    expect(await counts(db)).toEqual({ pending: 6, done: 3 });
  });

  it('moves a table of another shape: each row once, whoever wrote it, and none that the poller has sent', async () => {
    await migrate(db);
    await db.query(statement('CREATE TABLE IF NOT EXISTS my_outbox'));
    const write = (count: number) =>
      db.query(`INSERT INTO my_outbox (topic, key, payload) SELECT 'order.paid', 'k', to_jsonb(n) FROM generate_series(1, $1::int) n`, [count]); // prettier-ignore
    await write(5);
    await db.query(statement('CREATE TRIGGER my_outbox_moves'));
    // The poller has sent one, and holds another locked, which it then sends.
    await db.query(`UPDATE my_outbox SET sent_at = now() WHERE id = 1`);
    const poller = openDatabase({ url: database.url, schema: 'public', poolSize: 1 });
    const held = await poller.pool.connect();
    await held.query(`BEGIN; UPDATE my_outbox SET sent_at = now() WHERE id = 2`);
    await write(2);
    const moving = db.query(statement('UPDATE my_outbox SET sent_at'));
    await held.query('COMMIT');
    held.release();
    await moving;
    await poller.close();
    await write(1);
    const expected = await Promise.all([3, 4, 5, 6, 7, 8].map((id) => derived(`my_outbox:${id}`)));
    expect((await ids()).sort()).toEqual(expected.sort());
    expect((await db.query('SELECT 1 FROM my_outbox WHERE sent_at IS NULL')).rows).toEqual([]);
    expect((await db.query('SELECT DISTINCT event_type FROM event_queue')).rows).toEqual([
      { event_type: 'order_paid' },
    ]);
  });

  it('copies Debezium’s table under its ids, also rows that are deleted at once, and clears it away', async () => {
    await migrate(db);
    await db.query(statement('CREATE TABLE IF NOT EXISTS outbox'));
    await db.query(statement('CREATE TRIGGER outbox_copies'));
    const id = '7d444840-9dc0-11d1-b245-5ffdce74fad2';
    await db.query(
      `WITH written AS (INSERT INTO outbox VALUES ('${id}', 'order', '42', 'order.paid', '{"sum": 9}') RETURNING id) SELECT id FROM written;
       DELETE FROM outbox`,
    );
    expect((await db.query('SELECT event_id, event_type, aggregate_id, payload FROM event_queue')).rows).toEqual([
      { event_id: id, event_type: 'order_paid', aggregate_id: '42', payload: { sum: 9 } },
    ]);
    await db.query(statement('pg_drop_replication_slot'));
    expect((await db.query(`SELECT to_regclass('outbox') AS outbox`)).rows).toEqual([{ outbox: null }]);
  });

  it('moves the jobs of pg-boss that wait, and leaves those at work', async () => {
    await migrate(db);
    await db.query(PG_BOSS);
    await db.query(
      `INSERT INTO pgboss.job (id, name, data, state, start_after) VALUES
         (md5('1')::uuid, 'send-invoice-mail', '{"orderId": "42"}', 'created', now() + interval '1 hour'),
         (md5('2')::uuid, 'send-invoice-mail', NULL, 'retry', now()),
         (md5('3')::uuid, 'send-invoice-mail', '{}', 'active', now()),
         (md5('4')::uuid, 'send-invoice-mail', '{}', 'completed', now()),
         (md5('5')::uuid, 'another', '{}', 'created', now())`,
    );
    await db.query(statement('pgboss.job'));
    expect(await ids()).toEqual([await derived('2'), await derived('1')]);
    expect((await db.query(`SELECT state FROM pgboss.job ORDER BY id`)).rows).toHaveLength(3);
    const later = await db.query(
      `SELECT aggregate_id FROM event_queue WHERE available_at > now() + interval '59 minutes'`,
    );
    expect(later.rows).toEqual([{ aggregate_id: '42' }]);
  });

  it('moves the jobs of graphile-worker that wait, under derived ids', async () => {
    await migrate(db);
    await db.query(GRAPHILE_WORKER);
    await db.query(
      `INSERT INTO graphile_worker._private_tasks VALUES (1, 'send_invoice_mail'), (2, 'another');
       INSERT INTO graphile_worker._private_jobs (id, task_id, payload, attempts, locked_at) VALUES
         (1, 1, '{"orderId": "42"}', 0, NULL), (2, 1, '{}', 3, NULL), (3, 1, '{}', 1, now()), (4, 1, '{}', 25, NULL), (5, 2, '{}', 0, NULL)`,
    );
    await db.query(statement('graphile_worker._private_jobs'));
    expect(await ids()).toEqual([await derived('graphile_worker:1'), await derived('graphile_worker:2')]);
    const left = await db.query<{ id: string }>('SELECT id FROM graphile_worker._private_jobs ORDER BY id');
    expect(left.rows.map(({ id }) => Number(id))).toEqual([3, 4, 5]);
  });

  afterAll(() => expect(statements.filter((text) => !used.has(text))).toEqual([]));
});

async function counts(db: Database): Promise<Record<string, number>> {
  const { rows } = await db.query<{ status: string; n: number }>(
    'SELECT status, count(*)::integer AS n FROM event_queue GROUP BY status',
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

/** The columns that the page uses, as pg-boss 10.4 makes them. */
const PG_BOSS = `
  CREATE SCHEMA pgboss;
  CREATE TYPE pgboss.job_state AS ENUM ('created', 'retry', 'active', 'completed', 'cancelled', 'failed');
  CREATE TABLE pgboss.job (
    id uuid NOT NULL DEFAULT gen_random_uuid(), name text NOT NULL, data jsonb,
    state pgboss.job_state NOT NULL DEFAULT 'created', start_after timestamptz NOT NULL DEFAULT now(),
    created_on timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (name, id)
  ) PARTITION BY LIST (name);
  CREATE TABLE pgboss.other PARTITION OF pgboss.job DEFAULT`;

/** The columns that the page uses, as graphile-worker 0.17 makes them. */
const GRAPHILE_WORKER = `
  CREATE SCHEMA graphile_worker;
  CREATE TABLE graphile_worker._private_tasks (id integer PRIMARY KEY, identifier text NOT NULL UNIQUE);
  CREATE TABLE graphile_worker._private_jobs (
    id bigint PRIMARY KEY, task_id integer NOT NULL, payload json NOT NULL DEFAULT '{}',
    run_at timestamptz NOT NULL DEFAULT now(), attempts smallint NOT NULL DEFAULT 0,
    max_attempts smallint NOT NULL DEFAULT 25, created_at timestamptz NOT NULL DEFAULT now(), locked_at timestamptz
  )`;
