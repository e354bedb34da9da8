import { Client } from 'pg';
import { claimDue } from '../../src/outbox/claim';
import { listDead } from '../../src/deadLetters/list';
import { reemit } from '../../src/deadLetters/reemit';
import { reemitAll } from '../../src/deadLetters/reemitAll';
import { bumpFence } from '../../src/outbox/fence';
import { bury, defer, markDone } from '../../src/outbox/settle';
import { wakeChannel } from '../../src/postgres/channel';
import { openDatabase, type Database, type Queryable } from '../../src/postgres/database';
import { cloneDatabase, ownerOf, type TestDatabase } from '../support/database';
import { enqueue, event, events } from '../support/events';
import { deliveryOf, insertDelivery, setStatus } from '../support/deliveries';
import { eventually } from '../support/eventually';
import '../support/printedRoles';

const PLENTY = { rows: 10_000, bytes: 4 * 1024 * 1024 };
const COMPANY = '00000000-0000-4000-8000-00000000bbbb';

let database: TestDatabase;
let db: Database;
let schema: string;
beforeAll(async () => {
  database = await cloneDatabase();
  ({ db, schema } = database);
});
afterAll(() => database.drop());
beforeEach(() => ownerOf(db).query('TRUNCATE :schema.event_queue, :schema.deliveries RESTART IDENTITY'));

const open = new Set<Client>();
// What a failed test leaves open would hold back the next one's TRUNCATE.
afterEach(async () => {
  for (const client of open) await client.end();
  open.clear();
});

/** Dead letters as the relay leaves them: refused by the broker after having been deferred once. */
async function makeDead(count: number, over: Parameters<typeof events>[1] = () => ({})): Promise<string[]> {
  const ids = await enqueue(db, events(count, over));
  const token = await bumpFence(db);
  const first = await claimDue(db, token, PLENTY);
  await defer(db, token, first.events.map(({ id }) => id), 'not now', { firstMs: 1, maxMs: 1 }); // prettier-ignore
  await db.query(`UPDATE :schema.event_queue SET retry_at = available_at, attempts = 2 WHERE status = 'deferred'`);
  const second = await claimDue(db, token, PLENTY);
  expect(await bury(db, token, second.events.map(({ id }) => id), 'the broker takes 10 bytes')).toBe(count); // prettier-ignore
  return ids;
}

async function rowOf(eventId: string): Promise<Record<string, unknown>> {
  const { rows } = await db.query<Record<string, unknown>>(
    `SELECT status, attempts, deferrals, failure_reason, failed_at, retry_at, claim_token,
            available_at <= clock_timestamp() AS due FROM :schema.event_queue WHERE event_id = $1`,
    [eventId],
  );
  return rows[0]!;
}

const FRESH = {
  status: 'pending',
  attempts: 0,
  deferrals: 0,
  failure_reason: null,
  failed_at: null,
  retry_at: null,
  claim_token: null,
  due: true,
};

/** Ages dead letters: the first id died last. */
async function diedInReverse(ids: readonly string[]): Promise<void> {
  for (const [index, id] of ids.entries()) {
    await db.query(
      `UPDATE :schema.event_queue SET failed_at = '2026-01-10T00:00:00Z'::timestamptz - $1::integer * interval '1 day'
        WHERE event_id = $2`,
      [index, id],
    );
  }
}

describe('listDead', () => {
  it('lists the oldest first, with what an operator needs to judge them', async () => {
    const ids = await makeDead(3, (n) => ({ aggregateId: `a${n}`, companyId: COMPANY }));
    await diedInReverse(ids);
    const dead = await listDead(db.pool, { schema });
    expect(dead.map(({ eventId }) => eventId)).toEqual([...ids].reverse());
    expect(dead[0]).toEqual({
      eventId: ids[2],
      eventType: 'ThingHappened',
      aggregateType: 'thing',
      aggregateId: 'a2',
      companyId: COMPANY,
      handler: null,
      failedAt: new Date('2026-01-08T00:00:00Z'),
      reason: 'the broker takes 10 bytes',
      attempts: 2,
      deferrals: 1,
    });
  });

  it('lists as many as it is asked for, by default 100', async () => {
    await makeDead(120);
    expect(await listDead(db.pool, { schema })).toHaveLength(100);
    expect(await listDead(db.pool, { schema, limit: 7 })).toHaveLength(7);
  });

  it('lists nothing but dead letters', async () => {
    await enqueue(db, events(3));
    expect(await listDead(db.pool, { schema })).toEqual([]);
  });

  it('narrows the list by event type, tenant and time, alone and together', async () => {
    const ids = await makeDead(4, (n) => ({
      ...(n % 2 === 0 && { type: 'Even' }),
      ...(n < 2 && { companyId: COMPANY }),
    }));
    await diedInReverse(ids);
    const find = async (filter: Parameters<typeof listDead>[1]) =>
      new Set((await listDead(db.pool, { schema, ...filter })).map(({ eventId }) => ids.indexOf(eventId)));
    expect(await find({ eventType: 'Even' })).toEqual(new Set([0, 2]));
    expect(await find({ companyId: COMPANY })).toEqual(new Set([0, 1]));
    expect(await find({ since: '2026-01-09T00:00:00Z' })).toEqual(new Set([0, 1]));
    expect(await find({ eventType: 'Even', companyId: COMPANY })).toEqual(new Set([0]));
    expect(await find({ eventType: 'None' })).toEqual(new Set());
  });

  it('reads the same time in every spelling of ISO 8601, whatever zone the session has, and refuses what is none', async () => {
    const ids = await makeDead(4);
    await diedInReverse(ids);
    const client = new Client({ connectionString: database.url });
    await client.connect();
    try {
      await client.query(`SET timezone = 'Pacific/Auckland'`);
      for (const since of ['2026-01-09T00:00:00Z', '2026-01-09T02:00:00+02:00', '2026-01-09', '2026-01-08T23:59:59.5Z']) {
        expect(await listDead(client, { schema, since })).toHaveLength(2);
      }
      expect(await listDead(client, { schema, since: '2026' })).toHaveLength(4);
      expect(await listDead(client, { schema, since: '+275760-09-13T00:00:00Z' })).toHaveLength(0);
      for (const since of ['yesterday', '-271821-04-20T00:00:00Z'])
        await expect(listDead(client, { schema, since })).rejects.toThrow(`"${since}" is no time`);
    } finally {
      await client.end();
    }
  }); // prettier-ignore
});

describe('reemit', () => {
  it('hands a dead letter back due now, with a fresh budget and without its reason (C37)', async () => {
    const [id] = await makeDead(1);
    expect(await rowOf(id!)).toMatchObject({ status: 'dead_lettered', attempts: 2, deferrals: 1 });
    expect(await reemit(db.pool, [id!], { schema })).toEqual({ revived: [id], refused: [], deliveries: [] });
    expect(await rowOf(id!)).toEqual(FRESH);
    const claimed = await claimDue(db, await bumpFence(db), PLENTY);
    expect(claimed.events).toMatchObject([{ eventId: id, deferrals: 0, failureReason: null }]);
  });

  it('keeps the time that orders a row, so that it goes out before what came later', async () => {
    const [id] = await makeDead(1);
    const [later] = await enqueue(db, [event()]);
    await reemit(db.pool, [id!], { schema });
    const claimed = await claimDue(db, await bumpFence(db), PLENTY);
    expect(claimed.events.map(({ eventId }) => eventId)).toEqual([id, later]);
  });

  it('reports what it did not revive, each with the reason, and changes nothing of it (C37)', async () => {
    const [done, waiting, taken] = await enqueue(db, events(3));
    const token = await bumpFence(db);
    await claimDue(db, token, { ...PLENTY, rows: 1 });
    await markDone(db, token, []);
    const [dead] = await (async () => {
      await db.query(`UPDATE :schema.event_queue SET available_at = now() + interval '1 day' WHERE event_id <> $1`, [done]);
      const ids = await makeDead(1);
      await db.query(`UPDATE :schema.event_queue SET available_at = now() WHERE event_id = $1`, [taken]);
      await claimDue(db, await bumpFence(db), PLENTY);
      return ids;
    })();
    const unknown = '00000000-0000-4000-8000-0000000000ff';
    const before = await Promise.all([done, waiting, taken].map((id) => rowOf(id!)));
    expect(before.map(({ status }) => status)).toEqual(['done', 'pending', 'processing']);

    const result = await reemit(db.pool, [done!, waiting!, taken!, dead!, unknown, 'nonsense', ''], { schema });
    expect(result.revived).toEqual([dead]);
    const reasons = new Map(result.refused.map(({ id, reason }) => [id, reason]));
    expect(result.refused).toHaveLength(6);
    expect(reasons.get(done!)).toMatch(/^done: it was published/);
    expect(reasons.get(waiting!)).toMatch(/^pending: /);
    expect(reasons.get(taken!)).toMatch(/^processing: /);
    expect(reasons.get(unknown)).toMatch(/^unknown: /);
    expect(reasons.get('nonsense')).toMatch(/a UUID/);
    expect(reasons.get('')).toMatch(/a UUID/);
    expect(await Promise.all([done, waiting, taken].map((id) => rowOf(id!)))).toEqual(before);
  }); // prettier-ignore

  it('changes nothing when it is asked twice, or for one id twice (C37)', async () => {
    const [id] = await makeDead(1);
    expect(await reemit(db.pool, [id!, id!, id!.toUpperCase()], { schema })).toEqual({
      revived: [id],
      refused: [],
      deliveries: [],
    });
    const after = await rowOf(id!);
    expect(await reemit(db.pool, [id!], { schema })).toEqual({
      revived: [],
      refused: [{ id, reason: expect.stringMatching(/^pending: it is not a dead letter/) as string }],
      deliveries: [],
    });
    expect(await rowOf(id!)).toEqual(after);
  });

  it('revives a row once for two operators at the same moment, and tells the second so', async () => {
    const [id] = await makeDead(1);
    const first = new Client({ connectionString: database.url });
    await first.connect();
    open.add(first);
    await first.query('BEGIN');
    expect(await reemit(first, [id!], { schema })).toMatchObject({ revived: [id] });
    const second = reemit(db.pool, [id!], { schema });
    await eventually(async () => {
      const { rows } = await first.query<{ waiting: boolean }>(
        'SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))) AS waiting',
      );
      return rows[0]?.waiting;
    });
    await first.query('COMMIT');
    expect(await second).toEqual({
      revived: [],
      refused: [{ id, reason: expect.stringMatching(/somebody else revived it/) as string }],
      deliveries: [],
    });
    expect(await rowOf(id!)).toEqual(FRESH);
  });

  it('asks the database for nothing when no id is well-formed', async () => {
    let asked = 0;
    const counting: Queryable = { query: () => (asked++, Promise.resolve({ rows: [] })) };
    expect(await reemit(counting, ['x'], { schema })).toMatchObject({ revived: [], refused: [{ id: 'x' }] });
    expect(await reemit(counting, [], { schema })).toEqual({ revived: [], refused: [], deliveries: [] });
    expect(asked).toBe(0);
  });

  it('wakes the relay, but only when it has revived something', async () => {
    const [one, two] = await makeDead(2);
    const listener = new Client({ connectionString: database.url });
    await listener.connect();
    open.add(listener);
    const heard: string[] = [];
    listener.on('notification', ({ payload }) => heard.push(payload ?? ''));
    await listener.query(`LISTEN ${wakeChannel(schema)}`);
    const isHeard = async (mark: string) => {
      await db.query('SELECT pg_notify($1, $2)', [wakeChannel(schema), mark]);
      await eventually(() => heard.includes(mark));
    };
    await reemit(db.pool, [one!], { schema });
    await isHeard('one');
    await reemit(db.pool, [one!], { schema });
    await isHeard('nothing');
    await reemitAll(db.pool, {}, { schema });
    await isHeard('all');
    await reemitAll(db.pool, {}, { schema });
    await isHeard('none left');
    expect(await rowOf(two!)).toEqual(FRESH);
    expect(heard).toEqual(['', 'one', 'nothing', '', 'all', 'none left']);
  });
});

describe('reemitAll', () => {
  it('revives all dead letters and returns how many (C37)', async () => {
    const ids = await makeDead(25);
    const [waiting] = await enqueue(db, [event({ availableAt: new Date('2999-01-01') })]);
    expect(await reemitAll(db.pool, {}, { schema })).toEqual({ revived: 25 });
    for (const id of ids) expect(await rowOf(id)).toEqual(FRESH);
    expect(await rowOf(waiting!)).toMatchObject({ status: 'pending', due: false });
    expect(await reemitAll(db.pool, {}, { schema })).toEqual({ revived: 0 });
  });

  it('revives only what matches every filter', async () => {
    const ids = await makeDead(8, (n) => ({
      ...(n % 2 === 0 && { type: 'Even' }),
      ...(n < 4 && { companyId: COMPANY }),
    }));
    await diedInReverse(ids);
    const filter = { eventType: 'Even', companyId: COMPANY, since: '2026-01-09T00:00:00Z' };
    expect(await reemitAll(db.pool, filter, { schema })).toEqual({ revived: 1 });
    expect((await rowOf(ids[0]!)).status).toBe('pending');
    expect(await reemitAll(db.pool, { companyId: COMPANY }, { schema })).toEqual({ revived: 3 });
    expect(await reemitAll(db.pool, { eventType: 'Even' }, { schema })).toEqual({ revived: 2 });
    expect(await listDead(db.pool, { schema })).toHaveLength(2);
  });

  it('does not revive for ever what dies again meanwhile, and counts in steps of 5,000', async () => {
    await makeDead(5_001);
    // A relay that fails everything at once: whatever a statement has revived is dead again before the next.
    let statements = 0;
    const failing: Queryable = {
      query: async (text, values) => {
        const result = await db.pool.query(text, values);
        const { rowCount } = await db.query(
          `UPDATE :schema.event_queue SET status = 'dead_lettered', failed_at = clock_timestamp(), failure_reason = 'again'
            WHERE status = 'pending'`,
        );
        if ((rowCount ?? 0) > 0 && ++statements > 5) throw new Error('it revives for ever');
        return result;
      },
    };
    const steps: number[] = [];
    expect(await reemitAll(failing, {}, { schema, onChunk: (revived) => steps.push(revived) })).toEqual({ revived: 5_001 });
    expect(steps).toEqual([5_000, 5_001]);
    const { rows } = await db.query(
      `SELECT count(*)::integer AS count FROM :schema.event_queue WHERE failure_reason = 'again' AND attempts = 0`,
    );
    expect(rows).toEqual([{ count: 5_001 }]);
  }); // prettier-ignore
});

describe('dead letters of handlers', () => {
  const WAITS = { state: 'waiting', attempts: 0, reason: null, failed_at: null, due: true, touched: '-infinity' };
  const MAIL = { handler: 'mail', attempts: 0, dueInMs: 0, reason: null };
  const names = (letters: { eventId: string; handler: string | null }[]) =>
    letters.map(({ eventId, handler }) => [eventId, handler]);

  /** Backend `db`: the row is dead because its handlers are. */
  async function deadRow(...handlers: string[]): Promise<string> {
    const [id = ''] = await enqueue(db, [event()]);
    for (const handler of handlers) await insertDelivery(db, { eventId: id, handler });
    await setStatus(db, id, 'dead_lettered');
    return id;
  }

  it('are listed between those of the relay, oldest first, once for each handler and not again as a row', async () => {
    const first = await insertDelivery(db, { at: `'2026-01-01'`, foreign: true, companyId: COMPANY });
    const both = await deadRow('mail', 'bill');
    const [relay] = await makeDead(1);
    await diedInReverse([relay!]);
    const letters = await listDead(db.pool, { schema });
    expect(names(letters)).toEqual([[first, 'mail'], [relay, null], [both, 'mail'], [both, 'bill']]);
    expect(letters[0]).toEqual({
      eventId: first,
      eventType: 'ThingHappened',
      aggregateType: 'thing',
      aggregateId: 'a',
      companyId: COMPANY,
      handler: 'mail',
      failedAt: new Date('2026-01-01T00:00:00Z'),
      reason: 'no such host',
      attempts: 3,
      deferrals: 0,
    });
    for (const limit of [1, 2, 3]) {
      expect(await listDead(db.pool, { schema, limit })).toEqual(letters.slice(0, limit));
    }
  }); // prettier-ignore

  it('are found by handler, which never finds what the relay gave up', async () => {
    const both = await deadRow('mail', 'bill');
    await makeDead(1);
    await insertDelivery(db, { state: 'waiting' });
    expect(names(await listDead(db.pool, { schema, handler: 'bill' }))).toEqual([[both, 'bill']]);
    expect(await listDead(db.pool, { schema, handler: 'other' })).toEqual([]);
    expect(await listDead(db.pool, { schema, handler: 'bill', eventType: 'None' })).toEqual([]);
  });

  it('are listed by reading no more than the page, however many rows and deliveries are dead or done', async () => {
    await ownerOf(db).query(
      `WITH dead AS (
         INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload, status, failed_at)
         SELECT gen_random_uuid(), 'T', 't', 'a', '{}', 'dead_lettered', clock_timestamp() FROM generate_series(1, 20000)
         RETURNING event_id)
       INSERT INTO :schema.deliveries (event_id, handler, state, failed_at, failure_reason, source, event_type, aggregate_type, aggregate_id)
       SELECT event_id, 'mail', 'dead', now() - interval '1 hour', 'r', 'outbox', 'T', 't', 'a' FROM dead`,
    );
    await ownerOf(db).query('ANALYZE :schema.event_queue, :schema.deliveries');
    const client = new Client({ connectionString: database.url });
    await client.connect();
    open.add(client);
    await client.query('BEGIN');
    expect(await listDead(client, { schema, limit: 10 })).toHaveLength(10);
    const { rows } = await client.query<{ read: number }>(
      `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::integer AS read FROM pg_stat_xact_user_tables WHERE schemaname = $1`,
      [schema],
    );
    await client.query('ROLLBACK');
    expect(rows[0]!.read).toBeLessThan(200);
  });

  it('wait for their handler again after a re-emit, due now, with a full budget and without the reason (C37)', async () => {
    const id = await deadRow('mail');
    expect(await reemit(db.pool, [id], { schema })).toEqual({
      revived: [id],
      refused: [],
      deliveries: [
        { eventId: id, eventType: 'ThingHappened', aggregateType: 'thing', aggregateId: 'a', waiting: [MAIL] },
      ],
    });
    expect(await deliveryOf(db, id)).toMatchObject(WAITS);
    const row = { status: 'retrying', attempts: 0, failure_reason: null, failed_at: null };
    expect(await rowOf(id)).toMatchObject(row);
    const before = [await rowOf(id), await deliveryOf(db, id)];
    expect(await reemit(db.pool, [id], { schema })).toEqual({
      revived: [],
      refused: [{ id, reason: expect.stringMatching(/^waiting: .* mail will be tried again/) as string }],
      deliveries: [],
    });
    expect([await rowOf(id), await deliveryOf(db, id)]).toEqual(before);
    expect(await listDead(db.pool, { schema })).toEqual([]);
  });

  it('are no second publish of an event that is in the stream, nor need one that stands in no outbox (C40)', async () => {
    const [published = ''] = await enqueue(db, [event()]);
    await setStatus(db, published, 'done');
    await insertDelivery(db, { eventId: published });
    const foreign = await insertDelivery(db, { foreign: true });
    const { revived, deliveries } = await reemit(db.pool, [published, foreign], { schema });
    expect(new Set(revived)).toEqual(new Set([published, foreign]));
    expect(deliveries).toHaveLength(2);
    expect((await rowOf(published)).status).toBe('done');
    expect(await deliveryOf(db, published)).toMatchObject({ ...WAITS, source: 'outbox' });
    expect(await deliveryOf(db, foreign)).toMatchObject({ ...WAITS, source: 'EVENTS/7' });
  });

  it('are revived of one handler alone, when one is named; the relay’s never are', async () => {
    const both = await deadRow('mail', 'bill');
    const [relay] = await makeDead(1);
    const result = await reemit(db.pool, [both, relay!], { schema, handler: 'bill' });
    expect(result).toMatchObject({ revived: [both], deliveries: [{ waiting: [{ handler: 'bill' }] }] });
    expect(result.refused).toEqual([
      { id: relay, reason: expect.stringMatching(/no dead letter of the handler bill/) as string },
    ]);
    expect(await deliveryOf(db, both, 'mail')).toMatchObject({ state: 'dead', attempts: 3 });
    expect(await rowOf(both)).toMatchObject({ status: 'retrying' });
    expect(await rowOf(relay!)).toMatchObject({ status: 'dead_lettered' });
  });

  it('that are skipped, or unknown, are not revived, and the reason is told', async () => {
    const skipped = await insertDelivery(db, { state: 'skipped', foreign: true });
    const { refused } = await reemit(db.pool, [skipped], { schema });
    expect(refused).toEqual([{ id: skipped, reason: expect.stringMatching(/^skipped: /) as string }]);
  });

  it('are revived once for two operators at the same moment, and the second is told so', async () => {
    const id = await deadRow('mail');
    const first = new Client({ connectionString: database.url });
    await first.connect();
    open.add(first);
    await first.query('BEGIN');
    await reemit(first, [id], { schema });
    const second = reemit(db.pool, [id], { schema });
    await eventually(async () => {
      const { rows } = await first.query<{ waiting: boolean }>(
        'SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))) AS waiting',
      );
      return rows[0]?.waiting;
    });
    await first.query('COMMIT');
    expect(await second).toMatchObject({ revived: [], refused: [{ reason: expect.stringMatching(/somebody else/) as string }] });
    expect(await rowOf(id)).toMatchObject({ status: 'retrying' });
  }); // prettier-ignore

  it('are counted by reemitAll with those of the relay, and handed over for their runs', async () => {
    const both = await deadRow('mail', 'bill');
    const other = await insertDelivery(db, { eventType: 'Other', companyId: COMPANY });
    const [relay] = await makeDead(1);
    const handed: [number, string[]][] = [];
    const onChunk = (revived: number, deliveries: readonly { eventId: string }[]) =>
      handed.push([revived, deliveries.map(({ eventId }) => eventId)]);
    expect(await reemitAll(db.pool, { handler: 'bill' }, { schema, onChunk })).toEqual({ revived: 1 });
    expect(await reemitAll(db.pool, { companyId: COMPANY, eventType: 'Other' }, { schema, onChunk })).toEqual({ revived: 1 });
    expect((await rowOf(relay!)).status).toBe('dead_lettered');
    expect(await reemitAll(db.pool, {}, { schema, onChunk })).toEqual({ revived: 2 });
    expect(handed).toEqual([[1, [both]], [1, [other]], [1, [both]], [2, []]]);
    expect(await rowOf(relay!)).toEqual(FRESH);
    expect(await rowOf(both)).toMatchObject({ status: 'retrying', attempts: 0, failure_reason: null });
    expect(await reemitAll(db.pool, {}, { schema, onChunk })).toEqual({ revived: 0 });
  }); // prettier-ignore

  it('of a mass are revived in steps of 5,000', async () => {
    await db.query(
      `INSERT INTO :schema.deliveries (event_id, handler, state, failed_at, failure_reason, source, event_type, aggregate_type, aggregate_id)
       SELECT gen_random_uuid(), 'mail', 'dead', now(), 'r', 'outbox', 'T', 't', 'a' FROM generate_series(1, 5001)`,
    );
    const steps: number[] = [];
    expect(await reemitAll(db.pool, {}, { schema, onChunk: (revived) => steps.push(revived) })).toEqual({ revived: 5_001 });
    expect(steps).toEqual([5_000, 5_001]);
  }); // prettier-ignore
});

describe('a pool of one connection', () => {
  it('is enough for every verb, also for all of them at once', async () => {
    const ids = await makeDead(3);
    const one = openDatabase({ url: database.url, schema, poolSize: 1 });
    try {
      const [dead, revived, all] = await Promise.all([
        listDead(one.pool, { schema }),
        reemit(one.pool, [ids[0]!], { schema }),
        reemitAll(one.pool, {}, { schema }),
      ]);
      expect(dead).toHaveLength(3);
      expect(revived.revived).toEqual([ids[0]]);
      expect(all).toEqual({ revived: 2 });
    } finally {
      await one.close();
    }
  });
});

describe('the schema', () => {
  it('is that of OUTBOX_SCHEMA when none is given, as for enqueueEvents', async () => {
    const ids = await makeDead(2);
    process.env.OUTBOX_SCHEMA = schema;
    try {
      expect(await listDead(db.pool)).toHaveLength(2);
      expect(await reemit(db.pool, [ids[0]!])).toMatchObject({ revived: [ids[0]] });
      expect(await reemitAll(db.pool)).toEqual({ revived: 1 });
    } finally {
      delete process.env.OUTBOX_SCHEMA;
    }
  });
});
