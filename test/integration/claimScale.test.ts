import { Client, type Pool } from 'pg';
import { claimDue, claimProbe, readClaimed } from '../../src/outbox/claim';
import { listDead } from '../../src/deadLetters/list';
import { nextDue } from '../../src/outbox/due';
import { bumpFence, reclaimLeases, takeOver } from '../../src/outbox/fence';
import { freeDeferred, markDone } from '../../src/outbox/settle';
import { databaseOver, type Database } from '../../src/postgres/database';
import { cloneDatabase, type TestDatabase } from '../support/database';
import { enqueue, event } from '../support/events';

const LONG = process.env.OUTBOX_TEST_LONG === 'on';
/** Shortened tenfold; the full numbers are those of case C47. */
const ROWS = LONG
  ? { done: 1_000_000, future: 300_000, dead: 50_000, processing: 10_000, due: 100 }
  : { done: 100_000, future: 30_000, dead: 5_000, processing: 1_000, due: 100 };
const BATCH = 10;
/** Of ten claims and ten writes each. */
const ROUNDS = 10;
/** A bitmap scan looks at a row twice, in the index and in the table, and meets what earlier tests rolled back. */
const HELD = 5 * ROWS.processing;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

interface Read {
  /** Scans of the outbox: what is read by index, and what is not. */
  readonly scans: readonly string[];
  readonly rows: number;
}

describe('with a long history, many scheduled and many dead rows', () => {
  let database: TestDatabase;
  let token: string;

  beforeAll(async () => {
    database = await cloneDatabase();
    const { db } = database;
    const insert = (count: number, columns: Record<string, string>) =>
      db.query(
        `INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload, ${Object.keys(columns).join(', ')})
         SELECT gen_random_uuid(), 'T', 't', n::text, to_jsonb(n), ${Object.values(columns).join(', ')}
           FROM generate_series(1, $1::integer) AS n`,
        [count],
      );
    // What must not change the plans of one run is kept out of it; each test says whether statistics exist.
    await db.query('ALTER TABLE :schema.event_queue SET (autovacuum_enabled = false)');
    await insert(ROWS.done, { status: `'done'`, published_at: 'now()', available_at: `now() - interval '1 day'` });
    await insert(ROWS.future, { available_at: `now() + interval '1 hour' + n * interval '1 ms'` });
    await insert(ROWS.dead, { status: `'dead_lettered'`, failed_at: `now() - n * interval '1 s'` });
    token = await bumpFence(db);
    await insert(ROWS.processing, { status: `'processing'`, claim_token: token, claimed_at: 'clock_timestamp()' });
    await insert(ROWS.due, { available_at: 'clock_timestamp()' });
  }, 600_000);
  afterAll(() => database.drop());

  /** Runs the real statements of `call`, explains the last of them as it runs, and takes back what they changed. */
  async function readBy(call: (db: Database) => Promise<unknown>): Promise<Read> {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const plans: PlanNode[] = [];
    const explaining = {
      query: async (statement: string | { text: string; values: unknown[] }, given?: unknown[]) => {
        const { text, values } = typeof statement === 'string' ? { text: statement, values: given } : statement;
        await client.query('SAVEPOINT before');
        const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
          `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
          values,
        );
        await client.query('ROLLBACK TO before');
        plans.push(rows[0]!['QUERY PLAN'][0]!.Plan);
        return client.query(text, values);
      },
    };
    try {
      await client.query('BEGIN');
      await call(databaseOver(explaining as unknown as Pool, database.schema));
      await client.query('ROLLBACK');
    } finally {
      await client.end();
    }
    const scans: string[] = [];
    let rows = 0;
    const visit = (node: PlanNode): void => {
      const index = node['Index Name'];
      const ofOutbox = node['Relation Name'] === 'event_queue' || index?.startsWith('event_queue');
      if (node['Node Type'].includes('Scan') && ofOutbox) {
        scans.push(`${node['Node Type']}${index ? ` ${index}` : ''}`);
        rows +=
          node['Actual Loops'] *
          (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0));
      }
      node.Plans?.forEach(visit);
    };
    visit(plans.at(-1)!);
    expect(scans.length).toBeGreaterThan(0);
    return { scans, rows };
  }

  it('is claimed by index by a prepared statement too, whose plan no longer knows the limits', async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    let name: string | undefined;
    const running = {
      query: (statement: { name: string; text: string; values: unknown[] }) => {
        ({ name } = statement);
        return client.query(statement);
      },
    };
    await client.query('BEGIN');
    for (let times = 0; times < 12; times++) {
      await claimDue(databaseOver(running as unknown as Pool, database.schema), token, { rows: 2, bytes: 1_000 });
    }
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN EXECUTE ${name!} (${token}, 2, 1000, true)`);
    await client.query('ROLLBACK');
    await client.end();
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('event_queue_due');
    expect(plan).not.toContain('Seq Scan on event_queue');
  });

  const limits = { rows: BATCH, bytes: 4 * 1024 * 1024 };
  const statements: [string, (db: Database) => Promise<unknown>, number][] = [
    ['claimDue', (db) => claimDue(db, token, limits), 5 * BATCH],
    ['nextDue', (db) => nextDue(db), 5],
    ['claimProbe with nothing deferred', (db) => claimProbe(db, token), 5],
    ['takeOver of nothing', (db) => takeOver(db, token, []), HELD],
    ['takeOver of all', (db) => takeOver(db, String(BigInt(token) + 1n), []), HELD],
    ['takeOver of all but an open token', (db) => takeOver(db, String(BigInt(token) + 1n), [token]), HELD],
    ['reclaimLeases', (db) => reclaimLeases(db, 600_000, []), HELD],
    ['readClaimed', (db) => readClaimed(db, token), HELD],
    ['markDone', (db) => markDone(db, token, []), HELD],
    ['freeDeferred', (db) => freeDeferred(db, ['x'], 100), 5],
    ['listDead', (db) => listDead(db.pool, { schema: db.schema, limit: BATCH }), 5 * BATCH],
  ];

  describe.each([
    ['before the first ANALYZE', undefined],
    ['with statistics', 'VACUUM ANALYZE :schema.event_queue'],
  ])('%s', (_when, prepare) => {
    beforeAll(async () => {
      if (prepare) await database.db.query(prepare);
    }, 600_000);

    it.each(statements)('%s reads by index, and no more rows than it handles (C47)', async (_name, call, most) => {
      const read = await readBy(call);
      expect(read.scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
      expect(read.rows).toBeLessThanOrEqual(most);
    });

    it('claimDue reads nothing when nothing is due (C47)', async () => {
      const read = await readBy(async (db) => {
        expect((await claimDue(db, token, { ...limits, rows: ROWS.due })).events).toHaveLength(ROWS.due);
        expect((await claimDue(db, token, limits)).events).toEqual([]);
      });
      expect(read.scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
      expect(read.rows).toBe(0);
    });
  });

  it('takes no longer to claim from, due or not, nor to write to, than the times that are promised (C47)', async () => {
    const empty = await cloneDatabase();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const held = databaseOver(client as unknown as Pool, database.schema);
    const claims = { withWork: [] as number[], withNone: [] as number[] };
    const writes = { here: [] as number[], there: [] as number[] };
    const machine: number[] = [];
    try {
      for (let round = 0; round < ROUNDS; round++) {
        await client.query('BEGIN');
        for (let n = 0; n < ROWS.due / BATCH; n++)
          claims.withWork.push(await timed(() => claimDue(held, token, limits)));
        for (let n = 0; n < ROWS.due / BATCH; n++)
          claims.withNone.push(await timed(() => claimDue(held, token, limits)));
        await client.query('ROLLBACK');
        for (let n = 0; n < ROWS.due / BATCH; n++) {
          machine.push(await timed(() => client.query('SELECT 1')));
          writes.there.push(await timed(() => enqueue(empty.db, [event()])));
          writes.here.push(await timed(() => enqueue(database.db, [event({ availableAt: new Date('2999-01-01') })])));
        }
      }
    } finally {
      await client.end();
      await empty.drop();
    }
    // A machine that is busy with other things is slow at anything; the long tests take no account of that. Measured with
    // 60 processes waiting for two cores, a write takes 1.5 times as long as `SELECT 1`, and a claim up to 3.2 times.
    const busy = LONG ? 0 : 4 * p95(machine);
    expect(p95(claims.withWork)).toBeLessThan(Math.max(50, busy));
    expect(p95(claims.withNone)).toBeLessThan(Math.max(50, busy));
    expect(p95(writes.here)).toBeLessThan(Math.max(2 * p95(writes.there), busy));
  });

  it('a full table scan would be told from that', async () => {
    const read = await readBy((db) => db.query(`SELECT count(*) FROM :schema.event_queue WHERE aggregate_id = 'none'`));
    expect(read.rows).toBeGreaterThan(ROWS.done);
    expect(read.scans[0]).toMatch(/Seq Scan/);
  });
});

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

function p95(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(0.95 * values.length)] ?? NaN;
}
