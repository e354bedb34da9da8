import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { handOver, type HandOver } from '../../src/deliveries/handOver';
import { claimLedger, type LedgerKey } from '../../src/ledger/claim';
import { finishLedger, releaseLedger, renewLedger, type Runner } from '../../src/ledger/finish';
import { Leases } from '../../src/ledger/leases';
import { cloneDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/eventually';

const TIMES = { leaseMs: 30_000, maxLeaseMs: 1_800_000 };

let database: TestDatabase;
beforeAll(async () => {
  database = await cloneDatabase(8);
});
afterAll(() => database.drop());
beforeEach(() => database.db.query('TRUNCATE :schema.processed_events, :schema.deliveries'));

const run: Runner = (text, values) => database.db.query(text, values);
const keys = (count: number, handler = 'h'): LedgerKey[] =>
  Array.from({ length: count }, () => ({ eventId: randomUUID(), handler }));
const claim = async (given: readonly LedgerKey[]) => (await claimLedger(database.db, given, TIMES)).verdicts;
const claimed = async (given: readonly LedgerKey[]) =>
  (await claim(given)).map((verdict, index) => {
    if (verdict.kind !== 'claimed' || !given[index]) throw new Error(`not claimed: ${verdict.kind}`);
    return { ...given[index], startedAt: verdict.startedAt };
  });
const statuses = async () =>
  (
    await database.db.query<{ status: string; count: number }>(
      `SELECT status, count(*)::integer AS count FROM :schema.processed_events GROUP BY status ORDER BY status`,
    )
  ).rows;
const failed = (eventId: string, startedAt: number | null, over: Partial<HandOver> = {}): HandOver => ({
  event: {
    ...{ eventId, eventType: 'T', aggregateType: 't', aggregateId: 'a', companyId: null, orgUnitId: null },
    ...{ payload: '{}', headers: null, version: 1, correlationId: null, causationId: null, occurredAt: '' },
    source: 'S/1',
  },
  ...{ handler: 'h', startedAt, attempts: 1, dueInMs: 5_000, reason: 'it failed', dead: false },
  ...over,
});

describe('a ledger claim', () => {
  it('claims a whole group in one statement, and finishes it in one', async () => {
    const claims = await claimed(keys(50));
    expect((await finishLedger(run, claims)).size).toBe(50);
    expect(await statuses()).toEqual([{ status: 'done', count: 50 }]);
  });

  it('is skipped when done, and held with its exact rest when somebody else is at work', async () => {
    const [done, open] = keys(2);
    if (!done || !open) throw new Error('no keys');
    await finishLedger(run, await claimed([done]));
    const began = performance.now();
    await claimed([open]);
    const [first, second] = await claim([done, open]);
    expect(first).toEqual({ kind: 'done' });
    expect(second?.kind).toBe('held');
    const forMs = second?.kind === 'held' ? second.forMs : 0;
    expect(forMs).toBeGreaterThan(30_000 - (performance.now() - began) - 500);
    expect(forMs).toBeLessThanOrEqual(30_000);
  });

  it('is lost when its lease is over, also one without any lease after 1800 s, and not a moment before', async () => {
    const [young, old, leased] = keys(3);
    if (!young || !old || !leased) throw new Error('no keys');
    await claimed([young, old, leased]);
    const age = (eventId: string, sql: string) =>
      database.db.query(`UPDATE :schema.processed_events SET ${sql} WHERE event_id = $1`, [eventId]);
    await age(young.eventId, `lease_until = NULL, started_at = clock_timestamp() - interval '1740 s'`);
    await age(old.eventId, `lease_until = NULL, started_at = clock_timestamp() - interval '1801 s'`);
    await age(leased.eventId, `lease_until = clock_timestamp() - interval '1 ms'`);
    const verdicts = await claim([young, old, leased]);
    expect(verdicts.map(({ kind }) => kind)).toEqual(['held', 'lost', 'lost']);
  });

  it('compares its start in milliseconds, whatever microseconds were written (C15)', async () => {
    const [key] = keys(1);
    if (!key) throw new Error('no key');
    await database.db.query(
      `INSERT INTO :schema.processed_events (event_id, handler, status, started_at, lease_until)
       VALUES ($1, 'h', 'in_progress', '2026-01-01 10:00:05.123456+00', '2026-01-01 10:00:35+00')`,
      [key.eventId],
    );
    const [verdict] = await claim([key]);
    if (verdict?.kind !== 'lost') throw new Error(`not lost but ${verdict?.kind}`);
    expect(verdict.startedAt).toBe(Date.parse('2026-01-01T10:00:05.123Z'));
    const rows = await handOver(database.db, [failed(key.eventId, verdict.startedAt)]);
    expect(rows).toMatchObject([{ eventId: key.eventId, attempts: 1 }]);
    expect(await statuses()).toEqual([]);
  });

  it('that is not ours any more finishes, renews, releases and hands over nothing', async () => {
    const [mine] = await claimed(keys(1));
    if (!mine) throw new Error('no claim');
    const stale = { ...mine, startedAt: mine.startedAt - 1 };
    expect((await finishLedger(run, [stale])).size).toBe(0);
    expect((await renewLedger(run, [stale], 1_000)).size).toBe(0);
    await releaseLedger(run, [stale]);
    expect(await handOver(database.db, [failed(mine.eventId, stale.startedAt)])).toEqual([]);
    expect(await statuses()).toEqual([{ status: 'in_progress', count: 1 }]);
    expect((await renewLedger(run, [mine], 1_000)).size).toBe(1);
    expect((await finishLedger(run, [mine])).size).toBe(1);
  });

  it('that is let go by an owner of before does not end the renewal of a newer one, which is told when it is lost', async () => {
    const [key] = keys(1);
    if (!key) throw new Error('no key');
    const leases = new Leases(database.db, { leaseMs: 60_000, renewMs: 200 }, pino({ level: 'silent' }));
    const [mine] = await claimed([key]);
    if (!mine) throw new Error('no claim');
    leases.hold({ ...mine, startedAt: mine.startedAt - 60_000 }, performance.now());
    const loss = leases.hold(mine, performance.now());
    leases.letGo({ ...mine, startedAt: mine.startedAt - 60_000 });
    await database.db.query('DELETE FROM :schema.processed_events WHERE event_id = $1', [mine.eventId]);
    await eventually(() => loss.reason !== undefined);
    expect(loss.reason).toBe('another worker took its ledger claim over');
    leases.close();
  });
});

describe('a hand-over', () => {
  it('releases the claim and inserts the delivery in one statement; from then on a claim is refused', async () => {
    const claims = await claimed(keys(20));
    await handOver(
      database.db,
      claims.map(({ eventId, startedAt }) => failed(eventId, startedAt)),
    );
    expect(await statuses()).toEqual([]);
    const verdicts = await claim(claims);
    expect(verdicts.map(({ kind }) => kind)).toEqual(Array.from({ length: 20 }, () => 'delivery'));
  });

  it('copies record and body of an event that stands in no outbox, and of no other', async () => {
    const [inOutbox, streamOnly] = [randomUUID(), randomUUID()];
    await database.db.query(
      `INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ($1, 'T', 't', 'a', '{}')`,
      [inOutbox],
    );
    await handOver(database.db, [failed(inOutbox, null), failed(streamOnly, null)]);
    const { rows } = await database.db.query(
      `SELECT event_id, source, convert_from(body, 'UTF8') AS body, record->>'eventType' AS type FROM :schema.deliveries`,
    );
    expect(rows).toEqual(
      expect.arrayContaining([
        { event_id: inOutbox, source: 'outbox', body: null, type: null },
        { event_id: streamOnly, source: 'S/1', body: '{}', type: 'T' },
      ]),
    );
  });

  it('adds its attempt to a delivery that waits, and leaves one that is dead or skipped as it is', async () => {
    const [claim] = await claimed(keys(1));
    if (!claim) throw new Error('no claim');
    const { eventId, startedAt } = claim;
    await handOver(database.db, [failed(eventId, null, { attempts: 0, reason: 'held' })]);
    expect(await handOver(database.db, [failed(eventId, startedAt)])).toMatchObject([
      { attempts: 1, reason: 'it failed' },
    ]);
    await database.db.query(
      `UPDATE :schema.deliveries SET state = 'dead', next_at = NULL, failed_at = clock_timestamp()`,
    );
    expect(await handOver(database.db, [failed(eventId, null)])).toEqual([]);
    const { rows } = await database.db.query(`SELECT state, attempts FROM :schema.deliveries`);
    expect(rows).toEqual([{ state: 'dead', attempts: 1 }]);
  });
});
