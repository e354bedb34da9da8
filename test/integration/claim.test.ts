import { Client, type Pool } from 'pg';
import { retryBackoff } from '../../src/backoff';
import { claimDue, type Claimed } from '../../src/outbox/claim';
import { nextDue } from '../../src/outbox/due';
import { enqueueEvents } from '../../src/outbox/enqueue';
import { bumpFence, reclaimLeases, takeOver } from '../../src/outbox/fence';
import { bury, defer, free, markDone, markSomeDone, putBackProbe } from '../../src/outbox/settle';
import { databaseOver, openDatabase, type Database } from '../../src/postgres/database';
import { cloneDatabase, type TestDatabase } from '../support/database';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';

const PLENTY = { rows: 1_000, bytes: 4 * 1024 * 1024 };
const LEASE_MS = 600_000;
const LONG = process.env.OUTBOX_TEST_LONG === 'on';
const BACKOFF = { firstMs: 5_000, maxMs: 300_000 };

interface Row {
  id: string;
  event_id: string | null;
  status: string;
  claim_token: string | null;
  claimed_at: Date | null;
}

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await cloneDatabase();
  db = database.db;
});
afterAll(() => database.drop());
beforeEach(() => db.query('TRUNCATE :schema.event_queue RESTART IDENTITY'));

/** Rows as a foreign writer makes them: `columns` is SQL over `n`, for example `{ available_at: "now() + n * interval '1 s'" }`. */
async function insertRows(count: number, columns: Record<string, string> = {}): Promise<Row[]> {
  const all: Record<string, string> = {
    event_id: 'gen_random_uuid()',
    event_type: `'T'`,
    aggregate_type: `'t'`,
    aggregate_id: `'a'`,
    payload: 'to_jsonb(n)',
    ...columns,
  };
  const { rows } = await db.query<Row>(
    `INSERT INTO :schema.event_queue (${Object.keys(all).join(', ')})
     SELECT ${Object.values(all).join(', ')} FROM generate_series(1, ${count}) AS n RETURNING *`,
  );
  return rows;
}

async function rowsById(): Promise<Map<string, Row>> {
  const { rows } = await db.query<Row>('SELECT * FROM :schema.event_queue ORDER BY id');
  return new Map(rows.map((row) => [row.id, row]));
}

const idsOf = ({ events: taken }: Claimed) => taken.map(({ id }) => id);

const open = new Set<Client>();
// What a failed test leaves open would hold back the next one's TRUNCATE.
afterEach(async () => {
  for (const client of open) await client.end();
  open.clear();
});

/** A transaction on a connection of its own, seen as a database. */
async function openTransaction(): Promise<{ tx: Database; pid: number; end: (how: 'COMMIT' | 'ROLLBACK') => Promise<void> }> {
  const client = new Client({ connectionString: database.url });
  open.add(client);
  await client.connect();
  await client.query('BEGIN');
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return {
    tx: databaseOver(client as unknown as Pool, database.schema),
    pid: rows[0]!.pid,
    end: async (how) => {
      await client.query(how);
      await client.end();
      open.delete(client);
    },
  };
} // prettier-ignore

/** Resolves once some backend waits for a lock that `pid` holds. */
const somebodyWaitsFor = (pid: number) =>
  eventually(async () => {
    const { rows } = await db.query<{ waiting: boolean }>(
      'SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))) AS waiting',
      [pid],
    );
    return rows[0]?.waiting;
  });

describe('a claim', () => {
  it('takes a row of a lower id that commits late, and does not wait for a gap left by a rollback (C01)', async () => {
    const token = await bumpFence(db);
    const { schema } = database;
    const a = await openTransaction();
    const [a1] = await enqueueEvents(a.tx.pool, [event()], { schema });
    const [b1] = await enqueue(db, [event()]);
    const first = await claimDue(db, token, PLENTY);
    expect(first.events.map(({ eventId }) => eventId)).toEqual([b1]);
    await markDone(db, token, []);

    await a.end('COMMIT');
    const c = await openTransaction();
    await enqueueEvents(c.tx.pool, [event()], { schema });
    await c.end('ROLLBACK');
    const [d1] = await enqueue(db, [event()]);
    const second = await claimDue(db, token, PLENTY);
    expect(second.events.map(({ eventId }) => eventId)).toEqual([a1, d1]);
  });

  it('takes rows by (available_at, id), whatever their order of writing', async () => {
    const token = await bumpFence(db);
    const late = await insertRows(3, { available_at: `now() - n * interval '1 s'` });
    const early = await insertRows(2, { available_at: `now() - interval '1 hour'` });
    const expected = [early[0], early[1], late[2], late[1], late[0]].map((row) => row!.id);
    expect(idsOf(await claimDue(db, token, { ...PLENTY, rows: 2 }))).toEqual(expected.slice(0, 2));
    expect(idsOf(await claimDue(db, token, PLENTY))).toEqual(expected.slice(2));
  });

  it('leaves a scheduled row until its time has come, and nextDue says when that is', async () => {
    const token = await bumpFence(db);
    await insertRows(1, { available_at: `clock_timestamp() + interval '1 hour'` });
    expect(await claimDue(db, token, PLENTY)).toMatchObject({ held: true, events: [], lagMs: 0 });
    const due = await nextDue(db);
    expect(due.deferred).toBe(false);
    expect(due.inMs).toBeGreaterThan(3_540_000);
    expect(due.inMs).toBeLessThanOrEqual(3_600_000);
    await db.query(`UPDATE :schema.event_queue SET available_at = available_at - interval '1 hour'`);
    expect(await nextDue(db)).toEqual({ inMs: 0, deferred: false });
    expect((await claimDue(db, token, PLENTY)).events).toHaveLength(1);
  });

  it('leaves a deferred row until its retry time, although its due time has passed', async () => {
    const token = await bumpFence(db);
    const [row] = await insertRows(1);
    await claimDue(db, token, PLENTY);
    expect(await defer(db, token, [row!.id], 'not now', BACKOFF)).toBe(1);
    expect((await claimDue(db, token, PLENTY)).events).toEqual([]);
    expect((await nextDue(db)).deferred).toBe(true);
    await db.query(`UPDATE :schema.event_queue SET retry_at = retry_at - interval '5 s'`);
    expect((await claimDue(db, token, PLENTY)).events).toMatchObject([{ deferrals: 1, failureReason: 'not now' }]);
  });

  it('is not stopped by rows of a foreign writer that wait for ever or since ever', async () => {
    const token = await bumpFence(db);
    const [since] = await insertRows(1, { available_at: `'-infinity'`, occurred_at: `'infinity'` });
    const [never] = await insertRows(1, { available_at: `'infinity'` });
    const [plain] = await insertRows(1);
    expect(await nextDue(db)).toEqual({ inMs: 0, deferred: false });
    const claimed = await claimDue(db, token, PLENTY);
    expect(idsOf(claimed)).toEqual([since!.id, plain!.id]);
    expect(Number.isFinite(claimed.lagMs)).toBe(true);
    expect(claimed.events[0]!.occurredAt).toEqual(expect.any(String));
    expect(await nextDue(db)).toEqual({ inMs: null, deferred: false });
    expect((await rowsById()).get(never!.id)?.status).toBe('pending');
  });

  it('gives a row without an event id one, which it keeps when it is freed and claimed again', async () => {
    const token = await bumpFence(db);
    const [row] = await insertRows(1, { event_id: 'NULL' });
    const first = await claimDue(db, token, PLENTY);
    const given = first.events[0]!.eventId;
    expect(given).toMatch(/^[0-9a-f-]{36}$/);
    await free(db, token);
    const second = await claimDue(db, await bumpFence(db), PLENTY);
    expect(second.events).toMatchObject([{ id: row!.id, eventId: given }]);
    expect((await rowsById()).get(row!.id)?.event_id).toBe(given);
  });

  it('hands over the whole record, the payload as PostgreSQL prints it', async () => {
    const token = await bumpFence(db);
    const [eventId] = await enqueue(db, [
      event({
        payload: { z: 1.5, a: [1, 'ü'] },
        companyId: '00000000-0000-4000-8000-00000000bbbb',
        headers: { h: '1' },
        occurredAt: new Date('2020-01-02T03:04:05.678Z'),
      }),
    ]);
    const claimed = await claimDue(db, token, PLENTY);
    expect(claimed).toMatchObject({ held: true, overflow: false });
    expect(claimed.bytes).toBe(Buffer.byteLength('{"a": [1, "ü"], "z": 1.5}') + Buffer.byteLength('{"x": "y"}'));
    expect(claimed.events).toMatchObject([
      {
        eventId,
        payload: '{"a": [1, "ü"], "z": 1.5}',
        companyId: '00000000-0000-4000-8000-00000000bbbb',
        orgUnitId: null,
        headers: { h: '1' },
        occurredAt: '2020-01-02T03:04:05.678000Z',
      },
    ]);
  });
});

describe('the limits of a claim', () => {
  /** `sizes` are the bytes of the payloads, in the order of the claim. */
  const insertSizes = async (...sizes: number[]) => {
    const ids: string[] = [];
    for (const size of sizes) ids.push((await insertRows(1, { payload: `to_jsonb(repeat('x', ${size - 2}))` }))[0]!.id);
    return ids;
  };

  it('stop it before the bytes are exceeded, and it says that more was due', async () => {
    const token = await bumpFence(db);
    const ids = await insertSizes(100, 100, 100, 100);
    const claimed = await claimDue(db, token, { rows: 10, bytes: 299 });
    expect(claimed).toMatchObject({ overflow: true, bytes: 200 });
    expect(idsOf(claimed)).toEqual(ids.slice(0, 2));
    expect(idsOf(await claimDue(db, token, { rows: 10, bytes: 200 }))).toEqual(ids.slice(2));
  });

  it('let a single larger row through, alone', async () => {
    const token = await bumpFence(db);
    const ids = await insertSizes(1_000, 10, 10);
    const claimed = await claimDue(db, token, { rows: 10, bytes: 300 });
    expect(claimed).toMatchObject({ overflow: true, bytes: 1_000 });
    expect(idsOf(claimed)).toEqual(ids.slice(0, 1));
  });

  it('are kept to the byte by a claim that holds rows already: the larger row waits for the next', async () => {
    const token = await bumpFence(db);
    const ids = await insertSizes(1_000);
    const full = await claimDue(db, token, { rows: 10, bytes: 300, orOne: false });
    expect(full).toMatchObject({ held: true, overflow: true, bytes: 0, events: [] });
    expect(idsOf(await claimDue(db, token, { rows: 10, bytes: 300 }))).toEqual(ids);
  });

  it('count the headers, which a foreign writer may have made larger than any body', async () => {
    const token = await bumpFence(db);
    const [first] = await insertSizes(100, 100);
    await db.query(`UPDATE :schema.event_queue SET headers = jsonb_build_object('h', repeat('x', 10000))`);
    const claimed = await claimDue(db, token, { rows: 10, bytes: 4_000 });
    expect(idsOf(claimed)).toEqual([first]);
    expect(claimed.bytes).toBeGreaterThan(10_000);
  });

  it('never skip a larger row for smaller ones behind it', async () => {
    const token = await bumpFence(db);
    const ids = await insertSizes(100, 1_000, 10);
    expect(idsOf(await claimDue(db, token, { rows: 10, bytes: 300 }))).toEqual(ids.slice(0, 1));
    expect(idsOf(await claimDue(db, token, { rows: 10, bytes: 300 }))).toEqual(ids.slice(1, 2));
    expect(idsOf(await claimDue(db, token, { rows: 10, bytes: 300 }))).toEqual(ids.slice(2));
  });
});

describe('a claim under a planner that re-runs inner queries', () => {
  let own: TestDatabase;
  beforeAll(async () => {
    own = await cloneDatabase();
    await own.db.query('ALTER TABLE :schema.event_queue SET (autovacuum_enabled = false)');
  });
  afterAll(() => own.drop());

  const NESTED_LOOPS = ['enable_hashjoin', 'enable_mergejoin', 'enable_material'];
  const NOTHING_BUT_RESCANS = ['hashagg', 'sort', 'indexscan', 'indexonlyscan', 'bitmapscan'].map(
    (one) => `enable_${one}`,
  );

  /** A connection of a role for which these plans are off, by the role's own settings. */
  async function underPlanner<T>(off: readonly string[], work: (db: Database) => Promise<T>): Promise<T> {
    const name = new URL(own.url).pathname.slice(1);
    const role = async (then: (setting: string) => string) => {
      for (const setting of off) await own.db.query(`ALTER ROLE CURRENT_USER IN DATABASE ${name} ${then(setting)}`);
    };
    await role((setting) => `SET ${setting} = off`);
    const limited = openDatabase({ url: own.url, schema: own.schema, poolSize: 1 });
    try {
      const { rows } = await limited.query<{ hashjoin: string }>('SHOW enable_hashjoin');
      expect(rows).toEqual([{ enable_hashjoin: 'off' }]);
      return await work(limited);
    } finally {
      await limited.close();
      await role((setting) => `RESET ${setting}`);
    }
  }

  const fill = (rows: number) =>
    own.db.query(
      `INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload)
       SELECT gen_random_uuid(), 'T', 't', 'a', to_jsonb(n) FROM generate_series(1, $1::integer) AS n`,
      [rows],
    );

  it('takes exactly as many as it was asked for out of 100,000, where the usual form takes all there are (C02)', async () => {
    // First the trap itself, on 500 rows and rolled back: these settings do make the planner re-run the inner query.
    await fill(500);
    const naive = await underPlanner([...NESTED_LOOPS, ...NOTHING_BUT_RESCANS], async (limited) => {
      await limited.query('BEGIN');
      const { rowCount } = await limited.query(
        `UPDATE :schema.event_queue SET status = 'processing'
          WHERE id IN (SELECT id FROM :schema.event_queue
                        WHERE status IN ('pending', 'deferred') AND coalesce(retry_at, available_at) <= now()
                        LIMIT 10 FOR UPDATE SKIP LOCKED)`,
      );
      await limited.query('ROLLBACK');
      return rowCount;
    });
    expect(naive).toBeGreaterThan(10);

    await fill(99_500);
    const token = await bumpFence(own.db);
    const taken: string[] = [];
    for (const off of [NESTED_LOOPS, [...NESTED_LOOPS, ...NOTHING_BUT_RESCANS]]) {
      for (const rows of [10, 1]) {
        const claimed = await underPlanner(off, (limited) => claimDue(limited, token, { ...PLENTY, rows }));
        expect(claimed.events).toHaveLength(rows);
        taken.push(...idsOf(claimed));
        const { rows: moved } = await own.db.query<{ id: string }>(
          `SELECT id FROM :schema.event_queue WHERE status = 'processing' ORDER BY available_at, id`,
        );
        expect(moved.map(({ id }) => id)).toEqual(taken);
      }
    }
  });
});

describe('claims beside each other', () => {
  it('never share a row', async () => {
    const rows = await insertRows(600);
    // A connection for each: one that is made only now could come when the others have taken all.
    for (const client of await Promise.all([1, 2, 3].map(() => db.pool.connect()))) client.release();
    const token = await bumpFence(db);
    const claimer = async () => {
      const taken: string[] = [];
      for (;;) {
        const claimed = idsOf(await claimDue(db, token, { ...PLENTY, rows: 7 }));
        if (claimed.length === 0) return taken;
        taken.push(...claimed);
      }
    };
    const both = await Promise.all([claimer(), claimer(), claimer()]);
    // None of them did all the work alone, else this would show nothing.
    expect(both.filter((taken) => taken.length > 0).length).toBeGreaterThan(1);
    const all = both.flat();
    expect(new Set(all).size).toBe(all.length);
    expect(new Set(all)).toEqual(new Set(rows.map(({ id }) => id)));
  });

  it('skip the rows that another transaction holds, instead of waiting for them', async () => {
    const token = await bumpFence(db);
    const rows = await insertRows(4);
    const other = await openTransaction();
    await other.tx.query('SELECT FROM :schema.event_queue WHERE id = ANY ($1) FOR UPDATE', [
      [rows[0]!.id, rows[2]!.id],
    ]);
    expect(idsOf(await claimDue(db, token, PLENTY))).toEqual([rows[1]!.id, rows[3]!.id]);
    await other.end('ROLLBACK');
  });
});

describe('the fence', () => {
  it('lets a token behind it take nothing, and tells the claim that it is over', async () => {
    const old = await bumpFence(db);
    const [row] = await insertRows(1);
    const token = await bumpFence(db);
    expect(await claimDue(db, old, PLENTY)).toMatchObject({ held: false, events: [] });
    expect((await rowsById()).get(row!.id)).toEqual(row);
    expect(await claimDue(db, token, PLENTY)).toMatchObject({ held: true, events: [{ id: row!.id }] });
    expect(await claimDue(db, token, PLENTY)).toMatchObject({ held: true, events: [] });
  });

  it('waits for a claim statement that is under way, whose rows the new claim then takes over', async () => {
    const old = await bumpFence(db);
    const rows = await insertRows(3);
    const running = await openTransaction();
    expect((await claimDue(running.tx, old, PLENTY)).events).toHaveLength(3);
    const bump = bumpFence(db);
    await somebodyWaitsFor(running.pid);
    await running.end('COMMIT');
    const token = await bump;
    expect(await takeOver(db, token, [])).toBe(3);
    expect(idsOf(await claimDue(db, token, PLENTY))).toEqual(rows.map(({ id }) => id));
  });

  it('holds back a claim that meets a bump under way, which then takes nothing', async () => {
    const old = await bumpFence(db);
    await insertRows(3);
    const bumping = await openTransaction();
    await bumpFence(bumping.tx);
    const claim = claimDue(db, old, PLENTY);
    await somebodyWaitsFor(bumping.pid);
    await bumping.end('COMMIT');
    expect(await claim).toMatchObject({ held: false, events: [] });
  });

  it('hands out every token once, to any number of bumps at the same moment', async () => {
    const tokens = await Promise.all(Array.from({ length: 20 }, () => bumpFence(db)));
    expect(new Set(tokens).size).toBe(20);
  });
});

/** Rows in `processing`, each with its token; null means none, as a hand-written poller leaves them. */
async function insertProcessing(
  tokens: readonly (string | null)[],
  claimedAt = 'clock_timestamp()',
): Promise<string[]> {
  const ids: string[] = [];
  for (const token of tokens) {
    const [row] = await insertRows(1, { status: `'processing'`, claim_token: token ?? 'NULL', claimed_at: claimedAt });
    ids.push(row!.id);
  }
  return ids;
}

async function statuses(ids: readonly string[]): Promise<(string | undefined)[]> {
  const rows = await rowsById();
  return ids.map((id) => rows.get(id)?.status);
}

describe('takeOver', () => {
  it('frees what older claims left behind, but not open tokens, newer ones, those of drains, or rows without one', async () => {
    const ids = await insertProcessing(['5', '6', '7', '8', '9', '-3', null]);
    expect(await takeOver(db, '8', ['6'])).toBe(2);
    expect(await statuses(ids)).toEqual([
      'pending',
      'processing',
      'pending',
      'processing',
      'processing',
      'processing',
      'processing',
    ]);
  });

  it('frees deferred rows that were taken as well, due at once, with the due time that orders them', async () => {
    const [row] = await insertRows(1, {
      status: `'processing'`,
      claim_token: '1',
      claimed_at: 'now()',
      available_at: `'2020-01-01'`,
      retry_at: `now() + interval '1 hour'`,
      deferrals: '3',
      attempts: '2',
    });
    expect(await takeOver(db, '2', [])).toBe(1);
    expect((await rowsById()).get(row!.id)).toMatchObject({
      status: 'pending',
      retry_at: null,
      claim_token: null,
      claimed_at: null,
      deferrals: 3,
      attempts: 2,
      available_at: new Date('2020-01-01T00:00:00Z'),
    });
  });
});

describe('reclaimLeases', () => {
  it('frees rows whose lease is over by the clock of the database, and those without any time', async () => {
    const over = await insertProcessing(['1', '-1', null], `clock_timestamp() - interval '600.5 s'`);
    const live = await insertProcessing(['1', '-1', null], `clock_timestamp() - interval '540 s'`);
    const timeless = await insertProcessing(['1', '-1', null], 'NULL');
    expect(await reclaimLeases(db, LEASE_MS, [])).toBe(6);
    expect(await statuses([...over, ...timeless])).toEqual(Array(6).fill('pending'));
    expect(await statuses(live)).toEqual(Array(3).fill('processing'));
  });

  it('does not judge the tokens that the workflow still holds open', async () => {
    const ids = await insertProcessing(['1', '2'], `clock_timestamp() - interval '1 day'`);
    const timeless = await insertProcessing(['1', null], 'NULL');
    expect(await reclaimLeases(db, LEASE_MS, ['1'])).toBe(2);
    expect(await statuses([...ids, ...timeless])).toEqual(['processing', 'pending', 'processing', 'pending']);
  });

  it('touches nothing that is not being processed', async () => {
    await insertRows(1);
    await insertRows(1, { status: `'done'`, published_at: 'now()' });
    await insertRows(1, { status: `'dead_lettered'`, failed_at: 'now()' });
    await insertRows(1, { status: `'deferred'`, retry_at: 'now()' });
    const before = await rowsById();
    expect(await reclaimLeases(db, 0, [])).toBe(0);
    expect(await rowsById()).toEqual(before);
  });
});

describe('terminal writes', () => {
  const writes: [string, (token: string, ids: string[]) => Promise<number>][] = [
    ['markDone', (token) => markDone(db, token, [])],
    ['markSomeDone', (token, ids) => markSomeDone(db, token, ids)],
    ['defer', (token, ids) => defer(db, token, ids, 'late', BACKOFF)],
    ['putBackProbe', (token, ids) => putBackProbe(db, token, ids)],
    ['bury', (token, ids) => bury(db, token, ids, 'late')],
    ['free', (token) => free(db, token)],
    ['free by id', (token, ids) => free(db, token, ids)],
  ];
  it.each(writes)('%s with an old token changes nothing, and with the right one every row', async (_name, write) => {
    // Taken from `deferred`, so that each of the writes has something to do.
    const rows = await insertRows(3, { status: `'deferred'`, retry_at: `now() - interval '1 s'`, failure_reason: `'x'` });
    const ids = rows.map(({ id }) => id);
    const old = await bumpFence(db);
    await claimDue(db, old, PLENTY);
    const token = await bumpFence(db);
    await takeOver(db, token, []);
    // Free again, and then in the hands of the new claim.
    expect(await write(old, ids)).toBe(0);
    await db.query(`UPDATE :schema.event_queue SET status = 'deferred', retry_at = now() - interval '1 s'`);
    await claimDue(db, token, PLENTY);
    const before = await rowsById();
    expect(await write(old, ids)).toBe(0);
    expect(await rowsById()).toEqual(before);
    expect(await write(token, ids)).toBe(3);
    expect([...(await rowsById()).values()].map(({ claim_token, claimed_at }) => [claim_token, claimed_at])).toEqual(
      Array(3).fill([null, null]),
    );
    expect(await statuses(ids)).not.toContain('processing');
    // A second write finds nothing left to do.
    expect(await write(token, ids)).toBe(0);
  }); // prettier-ignore

  it('markDone leaves out the rows that were not acknowledged', async () => {
    const token = await bumpFence(db);
    const rows = await insertRows(3);
    await claimDue(db, token, PLENTY);
    expect(await markDone(db, token, [rows[1]!.id])).toBe(2);
    expect(await statuses(rows.map(({ id }) => id))).toEqual(['done', 'processing', 'done']);
  });
});

describe('defer', () => {
  it('waits on the schedule of retryBackoff, by the clock of the database (C31)', async () => {
    const deferrals = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 63, 1_099];
    const token = await bumpFence(db);
    const ids: string[] = [];
    for (const count of deferrals) {
      const [row] = await insertRows(1, {
        status: `'processing'`,
        claim_token: token,
        claimed_at: 'now()',
        deferrals: `${count}`,
      });
      ids.push(row!.id);
    }
    const clock = async () => (await db.query<{ ms: number }>(`SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms`)).rows[0]!.ms;
    const before = await clock();
    expect(await defer(db, token, ids, 'not now', BACKOFF)).toBe(ids.length);
    const after = await clock();
    const { rows } = await db.query<{ due: number; deferrals: number; attempts: number }>(
      `SELECT extract(epoch FROM retry_at)::float8 * 1000 AS due, deferrals, attempts FROM :schema.event_queue ORDER BY id`,
    );
    for (const [index, row] of rows.entries()) {
      const wait = retryBackoff(deferrals[index]! + 1);
      expect(row).toMatchObject({ deferrals: deferrals[index]! + 1, attempts: 0 });
      expect(row.due).toBeGreaterThanOrEqual(before + wait);
      expect(row.due).toBeLessThanOrEqual(after + wait);
    }
  }); // prettier-ignore

  it('has no range error at the ends of what settings can hold', async () => {
    const token = await bumpFence(db);
    const most = 2_147_483_647;
    for (const [firstMs, maxMs] of [[1, most], [most, most], [most, 1]] as const) {
      const [row] = await insertRows(1, { status: `'processing'`, claim_token: token, claimed_at: 'now()', deferrals: '5000' });
      expect(await defer(db, token, [row!.id], 'not now', { firstMs, maxMs })).toBe(1);
    }
  }); // prettier-ignore
});

describe('the running relay', () => {
  it('publishes what commits late and passes over a rollback: each committed event once (C01)', async () => {
    // Of 1 s in the long tests; else of 5 s, as a busy machine may take longer than two of 1 s for anything.
    const outbox = await TestOutbox.create({ OUTBOX_POLL_MS: LONG ? '1000' : '5000' });
    try {
      await outbox.startWorker();
      const { schema, url } = outbox.database;
      const twoPolls = 2 * outbox.config().relay.pollMs;
      const a = new Client({ connectionString: url });
      await a.connect();
      await a.query('BEGIN');
      const [a1] = await enqueueEvents(a, [event()], { schema });
      const [b1] = await enqueue(outbox.db, [event()]);
      await outbox.allDone(twoPolls);
      expect((await outbox.streamCounts()).get(b1!)).toBe(1);

      const committed = performance.now();
      await a.query('COMMIT');
      await a.query('BEGIN');
      const [c1] = await enqueueEvents(a, [event()], { schema });
      await a.query('ROLLBACK');
      await a.end();
      const [d1] = await enqueue(outbox.db, [event()]);
      await outbox.allDone();
      // The first of them, and so the last too.
      expect(performance.now() - committed).toBeLessThan(twoPolls);
      const counts = await outbox.streamCounts();
      expect([a1, b1, c1, d1].map((id) => counts.get(id!))).toEqual([1, 1, undefined, 1]);
    } finally {
      await outbox.close();
    }
  });
});
