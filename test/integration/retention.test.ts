import { randomUUID } from 'node:crypto';
import { handOver } from '../../src/deliveries/handOver';
import { binder, type Database } from '../../src/postgres/database';
import { quotedSchema } from '../../src/postgres/schemaName';
import { loadConfig } from '../../src/config';
import { recordArchive, type ArchiveBatch } from '../../src/retention/archive';
import { policyOf, type Kind } from '../../src/retention/policy';
import { countPrunable, prune, type PruneOptions } from '../../src/retention/prune';
import { insertAgedLedger, insertDoneLedger, insertRow } from '../support/aged';
import { eventRecord } from '../support/attempts';
import { cloneDatabase, ownerOf, type TestDatabase } from '../support/database';
import { deliveryOf, insertDelivery } from '../support/deliveries';
import '../support/printedRoles';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await cloneDatabase(6);
  db = database.db;
});
afterAll(() => database.drop());
beforeEach(async () => {
  await ownerOf(db).query('TRUNCATE :schema.event_queue, :schema.processed_events, :schema.deliveries');
  await recordArchive(db, false);
});

/** By the defaults, unless settings say otherwise. @returns rows removed */
async function clean(kind: Kind, settings: Record<string, string> = {}, options: PruneOptions = {}): Promise<number> {
  const keep = policyOf(loadConfig(settings))[kind];
  const counted = await countPrunable(db, kind, keep);
  const { removed, rest } = await prune(db, kind, keep, options);
  expect(rest).toBeNull();
  // What a dry run says is what goes.
  expect(removed).toBe(counted);
  return removed;
}

async function idsOf(table: 'event_queue' | 'processed_events' | 'deliveries'): Promise<Set<string>> {
  const { rows } = await db.query<{ id: string }>(`SELECT event_id AS id FROM :schema.${table}`);
  return new Set(rows.map(({ id }) => id));
}

describe('the ledger', () => {
  it('forgets what was done longer ago than 30 days, and neither what is younger nor what is in progress (C18)', async () => {
    const young = await insertAgedLedger(db, 'done', { age: '29 days 23 hours' });
    await insertAgedLedger(db, 'done', { age: '30 days 1 hour' });
    const running = await insertAgedLedger(db, 'in_progress', { age: '40 days' });
    expect(await clean('ledger')).toBe(1);
    expect(await idsOf('processed_events')).toEqual(new Set([young, running]));
  });

  it('keeps what it knows of an event that waits, is dead, or is not done, and no other', async () => {
    const [waiting, dead, skipped] = await Promise.all(
      (['waiting', 'dead', 'skipped'] as const).map((state) => insertDelivery(db, { state, handler: 'bill' })),
    );
    const pending = await insertRow(db, 'pending', { age: '31 days' });
    const buried = await insertRow(db, 'dead_lettered', { age: '31 days' });
    const done = await insertRow(db, 'done', { age: '31 days' });
    for (const eventId of [waiting, dead, skipped, pending, buried, done])
      await insertAgedLedger(db, 'done', { eventId: eventId ?? '', age: '31 days' });
    expect(await clean('ledger')).toBe(2);
    expect(await idsOf('processed_events')).toEqual(new Set([waiting, dead, pending, buried]));
  });

  it('finds what lies behind thousands of rows of one moment that must stay', async () => {
    await insertDoneLedger(db, 3_000, '35 days');
    await db.query(
      `INSERT INTO :schema.deliveries (event_id, handler, state, failed_at, failure_reason, source, event_type, aggregate_type, aggregate_id)
       SELECT event_id, 'bill', 'dead', now(), 'no', 'outbox', 'T', 't', 'a' FROM :schema.processed_events`,
    );
    await insertDoneLedger(db, 10, '34 days');
    expect(await clean('ledger')).toBe(10);
  });

  it('removes thousands of one and the same moment', async () => {
    await insertDoneLedger(db, 3_000, '35 days');
    expect(await clean('ledger')).toBe(3_000);
  });
});

describe('rows that are done', () => {
  it('go after 7 days, and no row in any other state ever', async () => {
    const kept = [await insertRow(db, 'done', { age: '6 days 23 hours' })];
    await insertRow(db, 'done', { age: '7 days 1 hour' });
    for (const status of ['pending', 'deferred', 'processing', 'retrying', 'dead_lettered'] as const)
      kept.push(await insertRow(db, status, { age: '1000 days' }));
    expect(await clean('done')).toBe(1);
    expect(await idsOf('event_queue')).toEqual(new Set(kept));
  });

  it('stay while a handler waits for them or gave them up, which reads their bodies, and not for one that was skipped', async () => {
    const kept: string[] = [];
    for (const state of ['waiting', 'dead', 'skipped'] as const) {
      const eventId = await insertRow(db, 'done', { age: '8 days' });
      await insertDelivery(db, { eventId, state });
      if (state !== 'skipped') kept.push(eventId);
    }
    expect(await clean('done')).toBe(1);
    expect(await idsOf('event_queue')).toEqual(new Set(kept));
  });

  it('go and stay by the age of their type, where it has one', async () => {
    const settings = { OUTBOX_RETENTION_OVERRIDES: 'Signed=never,Placed=90d,Clicked=1h' };
    const kept = [
      await insertRow(db, 'done', { age: '1000 days', type: 'Signed' }),
      await insertRow(db, 'done', { age: '89 days', type: 'Placed' }),
      await insertRow(db, 'done', { age: '59 minutes', type: 'Clicked' }),
    ];
    await insertRow(db, 'done', { age: '91 days', type: 'Placed' });
    await insertRow(db, 'done', { age: '61 minutes', type: 'Clicked' });
    await insertRow(db, 'done', { age: '8 days' });
    expect(await clean('done', settings)).toBe(3);
    expect(await idsOf('event_queue')).toEqual(new Set(kept));
    expect(await clean('done', { OUTBOX_DONE_RETENTION_MS: 'never' })).toBe(0);
  });

  it('are found behind thousands of rows that stay, in any order of their ends', async () => {
    await ownerOf(db).query(
      `INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at, failed_at)
       SELECT gen_random_uuid(), 'T', 't', 'a', '{}', CASE WHEN n % 3 = 0 THEN 'dead_lettered' WHEN n % 3 = 1 THEN 'pending' ELSE 'done' END,
              CASE WHEN n % 3 = 2 THEN now() - interval '1 hour' END, CASE WHEN n % 3 = 0 THEN now() END FROM generate_series(1, 12000) AS n`,
    );
    await insertRow(db, 'done', { age: '8 days' });
    await insertRow(db, 'done', { age: '100 days' });
    expect(await clean('done')).toBe(2);
  });

  it('are found behind more dead letters than one run looks ahead', async () => {
    await ownerOf(db).query(
      `INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload, status, available_at, failed_at)
       SELECT gen_random_uuid(), 'T', 't', 'a', '{}', 'dead_lettered', now() - interval '9 days', now() FROM generate_series(1, 110000) AS n`,
    );
    await insertRow(db, 'done', { age: '8 days' });
    expect(await clean('done')).toBe(1);
  });

  it('go in batches that bodies of a megabyte do not make too heavy', async () => {
    const payload = JSON.stringify({ text: Array.from({ length: 20_000 }, () => randomUUID()).join('') });
    for (let n = 0; n < 30; n++) await insertRow(db, 'done', { age: '8 days', payload });
    const batches: number[] = [];
    await clean('done', {}, { onProgress: (removed) => batches.push(removed) });
    expect(batches.at(-1)).toBe(30);
    expect(Math.max(...batches.map((removed, at) => removed - (batches[at - 1] ?? 0)))).toBeLessThanOrEqual(11);
  });

  it('are left to whoever has them locked, without a wait', async () => {
    const locked = await insertRow(db, 'done', { age: '8 days' });
    await insertRow(db, 'done', { age: '8 days' });
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(binder(db.schema)('SELECT FROM :schema.event_queue WHERE event_id = $1 FOR KEY SHARE'), [
        locked,
      ]);
      const { removed } = await prune(db, 'done', policyOf(loadConfig({})).done);
      expect(removed).toBe(1);
      expect(await idsOf('event_queue')).toEqual(new Set([locked]));
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  it('stay when a handler fails for the first time at this very moment: its delivery reads the body from the row', async () => {
    const eventId = await insertRow(db, 'done', { age: '8 days' });
    const client = await db.pool.connect();
    const bind = binder(db.schema);
    const inTransaction = { query: (text: string, values: unknown[]) => client.query(bind(text), values) } as unknown as Database; // prettier-ignore
    const failed = { event: eventRecord({ eventId }), handler: 'mail', startedAt: null, attempts: 1, dueInMs: 0, reason: 'no', dead: false }; // prettier-ignore
    const keep = policyOf(loadConfig({})).done;
    try {
      await client.query('BEGIN');
      await handOver(inTransaction, [failed]);
      // Not committed: the delivery is seen by nobody.
      expect((await prune(db, 'done', keep)).removed).toBe(0);
      await client.query('COMMIT');
    } finally {
      client.release();
    }
    expect((await prune(db, 'done', keep)).removed).toBe(0);
    expect(await deliveryOf(db, eventId)).toMatchObject({ source: 'outbox' });
  });
});

describe('dead letters and skipped deliveries', () => {
  it('stay for ever unless a setting says otherwise', async () => {
    await insertRow(db, 'dead_lettered', { age: '1000 days' });
    await insertDelivery(db, { state: 'dead', at: `now() - interval '1000 days'` });
    await insertDelivery(db, { state: 'skipped' });
    await db.query(`UPDATE :schema.deliveries SET touched_at = now() - interval '1000 days'`);
    expect([await clean('dead'), await clean('skipped')]).toEqual([0, 0]);
    const settings = { OUTBOX_DEAD_RETENTION_MS: '86400000', OUTBOX_SKIPPED_RETENTION_MS: '86400000' };
    expect([await clean('dead', settings), await clean('skipped', settings)]).toEqual([2, 1]);
  });

  it('skipped ones go whatever else waits or is dead, but for those of their own event', async () => {
    const settings = { OUTBOX_SKIPPED_RETENTION_MS: '86400000' };
    await insertDelivery(db, { state: 'waiting' });
    await insertDelivery(db, { state: 'dead' });
    await insertDelivery(db, { state: 'skipped' });
    const kept = await insertDelivery(db, { state: 'skipped' });
    await insertDelivery(db, { eventId: kept, state: 'waiting', handler: 'bill' });
    await db.query(`UPDATE :schema.deliveries SET touched_at = now() - interval '2 days'`);
    expect(await clean('skipped', settings)).toBe(1);
    const { rows } = await db.query(`SELECT event_id AS id FROM :schema.deliveries WHERE state = 'skipped'`);
    expect(rows).toEqual([{ id: kept }]);
  });

  const aDay = { OUTBOX_DEAD_RETENTION_MS: '86400000' };

  it('go with their row: none of them while another handler waits, or while the row is younger', async () => {
    const old = `now() - interval '2 days'`;
    const whole = await insertRow(db, 'dead_lettered', { age: '36 hours' });
    await insertDelivery(db, { eventId: whole, at: old });
    const younger = await insertRow(db, 'dead_lettered', { age: '1 hour' });
    await insertDelivery(db, { eventId: younger, at: old });
    const waited = await insertRow(db, 'retrying', { age: '2 days' });
    await insertDelivery(db, { eventId: waited, at: old });
    await insertDelivery(db, { eventId: waited, state: 'waiting', handler: 'bill' });
    const half = await insertRow(db, 'dead_lettered', { age: '36 hours' });
    await insertDelivery(db, { eventId: half, at: old });
    await insertDelivery(db, { eventId: half, handler: 'bill' });
    const foreign = await insertDelivery(db, { at: old, foreign: true });

    // Whole: a letter and its row; half: one letter, whose row the other still needs; foreign: a letter with its body.
    expect(await clean('dead', aDay)).toBe(4);
    expect(await idsOf('event_queue')).toEqual(new Set([younger, waited, half]));
    expect(await idsOf('deliveries')).toEqual(new Set([younger, waited, half]));
    expect(await deliveryOf(db, half, 'bill')).toMatchObject({ state: 'dead' });
    expect((await idsOf('deliveries')).has(foreign)).toBe(false);
  });
});

describe('an archive', () => {
  it('is given each row as it stands, every digit of it, before the row goes', async () => {
    const given: ArchiveBatch[] = [];
    const eventId = await insertRow(db, 'done', { age: '8 days', payload: '{"n": 12345678901234567890.10}' });
    const archive = async (batch: ArchiveBatch) => {
      given.push(batch);
      expect(await idsOf('event_queue')).toEqual(new Set([eventId]));
    };
    expect(await clean('done', {}, { archive })).toBe(1);
    expect(given).toMatchObject([{ table: 'event_queue' }]);
    expect(given[0]?.rows).toHaveLength(1);
    expect(given[0]?.rows[0]).toContain('{"n": 12345678901234567890.10}');
    expect(JSON.parse(given[0]?.rows[0] ?? '')).toMatchObject({ event_id: eventId, event_type: 'ThingHappened' });
  });

  it('that throws keeps the rows, and its reason is told', async () => {
    await insertRow(db, 'done', { age: '8 days' });
    const archive = () => Promise.reject(new Error('the bucket is full'));
    await expect(prune(db, 'done', policyOf(loadConfig({})).done, { archive })).rejects.toThrow(
      /did not take 1 rows of event_queue, which stay: the bucket is full/,
    );
    expect((await idsOf('event_queue')).size).toBe(1);
  });

  it('is given a row again that could not be removed once it was put away: at least once', async () => {
    const eventId = await insertRow(db, 'done', { age: '8 days' });
    const given: string[] = [];
    const archive = ({ rows }: ArchiveBatch) => {
      given.push(...rows.map((line) => (JSON.parse(line) as { event_id: string }).event_id));
    };
    const keep = policyOf(loadConfig({})).done;
    const locker = await db.pool.connect();
    try {
      await locker.query('BEGIN');
      // Comes between the two, as a crash would.
      const interrupted = async (batch: ArchiveBatch) => {
        archive(batch);
        await locker.query(`SELECT FROM ${quotedSchema(db.schema)}.event_queue FOR UPDATE`);
      };
      expect((await prune(db, 'done', keep, { archive: interrupted })).removed).toBe(0);
    } finally {
      await locker.query('ROLLBACK');
      locker.release();
    }
    expect((await prune(db, 'done', keep, { archive })).removed).toBe(1);
    expect(given).toEqual([eventId, eventId]);
  });

  it('that hangs holds up no stop: its rows stay, and the next run begins with them', async () => {
    await insertDoneLedger(db, 3, '31 days');
    const stop = new AbortController();
    const keep = policyOf(loadConfig({})).ledger;
    const archive = () => {
      stop.abort();
      return new Promise<void>(() => undefined);
    };
    await recordArchive(db, true);
    const { removed, rest } = await prune(db, 'ledger', keep, { archive, signal: stop.signal });
    expect([removed, rest]).toEqual([0, { shelf: 0, after: null }]);
    expect(await prune(db, 'ledger', keep, { archive: () => undefined, from: rest! })).toMatchObject({ removed: 3 });
  });

  it('is missed where a worker had one: nothing goes that nobody would have put away', async () => {
    await insertRow(db, 'done', { age: '8 days' });
    await recordArchive(db, true);
    await expect(prune(db, 'done', policyOf(loadConfig({})).done)).rejects.toThrow(/through an archive/);
    await recordArchive(db, false);
    expect(await clean('done')).toBe(1);
  });
});

it('ends with the batch that is under way when told to, and goes on from there', async () => {
  await insertDoneLedger(db, 3_000, '35 days');
  const stop = new AbortController();
  const keep = policyOf(loadConfig({})).ledger;
  const first = await prune(db, 'ledger', keep, { signal: stop.signal, onProgress: () => stop.abort() });
  expect(first.rest).not.toBeNull();
  const second = await prune(db, 'ledger', keep, { from: first.rest ?? undefined });
  expect(first.removed + second.removed).toBe(3_000);
});
