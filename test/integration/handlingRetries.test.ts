import { randomUUID } from 'node:crypto';
import { handOver } from '../../src/deliveries/handOver';
import { takeOrphans } from '../../src/deliveries/sweep';
import { defineHandler } from '../../src/handlers/defineHandler';
import { claimLedger } from '../../src/ledger/claim';
import type { Database } from '../../src/postgres/database';
import { attemptOf, claimed, eventRecord, standAlone } from '../support/attempts';
import { ownerOf } from '../support/database';
import { deliveryOf, insertDelivery } from '../support/deliveries';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows, unfinished } from '../support/handled';
import { TestOutbox } from '../support/outbox';

/** With a first retry after 1 s and at most 3 s between two. */
const GAPS = [1_000, 2_000, 3_000, 3_000, 3_000, 3_000, 3_000];

describe.each(['db', 'nats'])('the schedule of retries, backend %s', (backend) => {
  let outbox: TestOutbox;

  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend, EVENT_QUEUE_MAX_ATTEMPTS: '8' });
  });
  afterEach(() => outbox.close());

  it('gives twenty events that always fail the same eight attempts, with gaps that double up to their limit', async () => {
    const entered = new Map<string, { attempt: number; at: number }[]>();
    const broken = defineHandler({
      name: 'broken',
      events: ['ThingHappened'],
      run: ({ eventId }, { attempt }) => {
        entered.set(eventId, [...(entered.get(eventId) ?? []), { attempt, at: performance.now() }]);
        throw new Error('always');
      },
    });
    await outbox.startWorker(
      // Not shorter: Temporal's timers of less than a second fire after about one.
      { OUTBOX_BACKOFF_FIRST_MS: '1000', OUTBOX_BACKOFF_MAX_MS: '3000' },
      { handlers: [broken] },
    );
    const written = await watchDueTimes(outbox.db);
    const ids = await enqueue(
      outbox.db,
      events(20, (n) => ({ aggregateId: `a${n}` })),
    );
    await eventually(async () => {
      const rows = await deliveryRows(outbox.db);
      return rows.length === 20 && rows.every(({ state }) => state === 'dead');
    }, 100_000);
    expect([...entered.keys()].sort()).toEqual([...ids].sort());
    for (const times of entered.values()) {
      expect(times.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      // Never early; how late is the machine's affair, and its due time is what the database wrote.
      const gaps = times.slice(1).map(({ at }, index) => at - times[index]!.at);
      GAPS.forEach((gap, index) => expect(gaps[index]).toBeGreaterThan(gap - 200));
    }
    for (const id of ids) expect(await written.of(id)).toEqual(GAPS.map((gap, index) => [index + 1, gap / 1_000]));
    expect((await deliveryRows(outbox.db)).map(({ attempts }) => attempts)).toEqual(Array(20).fill(8));
  }, 120_000);

  it('ends 300 that succeed and 100 that fail once as done, with no claim left behind (C15)', async () => {
    const failed = new Set<string>();
    const entered = new Map<string, number>();
    const flaky = defineHandler({
      name: 'flaky',
      events: ['ThingHappened'],
      run: ({ eventId, payload }) => {
        entered.set(eventId, (entered.get(eventId) ?? 0) + 1);
        if ((payload as { n: number }).n >= 300 && !failed.has(eventId)) {
          failed.add(eventId);
          throw new Error('the first time');
        }
      },
    });
    const settings = { OUTBOX_BACKOFF_FIRST_MS: '200', OUTBOX_RUN_STARTS_PER_SECOND: '1000' };
    const { logs } = await outbox.startWorker(settings, { handlers: [flaky] });
    const taken = randomUUID();
    // A worker began it, and was gone a while ago; its claim has microseconds in its start.
    await outbox.db.query(
      `INSERT INTO :schema.processed_events (event_id, handler, status, started_at, lease_until)
       VALUES ($1, 'flaky', 'in_progress', '2020-01-01T00:00:05.123456Z', '2020-01-01T00:00:35Z')`,
      [taken],
    );
    await enqueue(outbox.db, [
      event({ eventId: taken, payload: { n: 0 } }),
      ...events(400, (n) => ({ aggregateId: `a${n}` })),
    ]);
    // A hundred delivery runs: on a machine that others use too, they take their time.
    await allHandled(outbox.db, 'flaky', 401, 100_000);
    expect(await unfinished(outbox.db)).toEqual({ inProgress: 0, waiting: 0 });
    expect(failed.size).toBe(100);
    expect(entered.get(taken)).toBe(1);
    expect([...entered].filter(([id]) => failed.has(id)).every(([, count]) => count === 2)).toBe(true);
    expect(logs.filter(({ msg }) => /lost|took its ledger claim/i.test(msg as string))).toEqual([]);
  }, 120_000);
});

describe('the due time of a retry, by the clock of the database', () => {
  let outbox: TestOutbox;

  beforeAll(async () => {
    outbox = await TestOutbox.create({
      EVENT_BUS_BACKEND: 'db',
      EVENT_QUEUE_MAX_ATTEMPTS: '2000',
      OUTBOX_BACKOFF_FIRST_MS: '5000',
      OUTBOX_BACKOFF_MAX_MS: '300000',
    });
  });
  afterAll(() => outbox.close());

  const seconds = [5, 10, 20, 40, 80, 160, 300, 300, 300, 300];
  const schedule = [
    ...seconds.map((s, index) => [index + 1, s] as const),
    ...[31, 64, 1_100].map((n) => [n, 300] as const),
  ];

  it.each(schedule)('is after attempt %i another %i s, with the default settings (C31)', async (attempt, expected) => {
    const broken = defineHandler({
      name: 'broken',
      events: ['ThingHappened'],
      run: () => {
        throw new Error('always');
      },
    });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    await insertDelivery(outbox.db, { eventId: id, handler: 'broken', state: 'waiting', attempts: attempt - 1 });
    const { deps, close } = standAlone(outbox, [broken]);
    await expect(attemptOf(deps, 'broken', id)).rejects.toThrow('always');
    close();
    const { rows } = await outbox.db.query<{ attempts: number; seconds: number }>(
      `SELECT attempts, extract(epoch FROM next_at - touched_at)::float8 AS seconds
         FROM :schema.deliveries WHERE event_id = $1`,
      [id],
    );
    expect(rows[0]!.attempts).toBe(attempt);
    expect(rows[0]!.seconds).toBeCloseTo(expected, 2);
  });

  it('is kept by the hand-over to the millisecond, and the sweep leaves the delivery alone until then', async () => {
    const record = eventRecord();
    const startedAt = await claimed(outbox.db, record.eventId, 'broken');
    await handOver(outbox.db, [
      { event: record, handler: 'broken', startedAt, attempts: 1, dueInMs: 300_000, reason: 'no', dead: false },
    ]);
    const { rows } = await outbox.db.query<{ seconds: number }>(
      `SELECT extract(epoch FROM next_at - touched_at)::float8 AS seconds FROM :schema.deliveries WHERE event_id = $1`,
      [record.eventId],
    );
    expect(rows[0]!.seconds).toBeCloseTo(300, 2);
    expect((await takeOrphans(outbox.db, 0)).map(({ eventId }) => eventId)).not.toContain(record.eventId);
    const [verdict] = (await claimLedger(outbox.db, [{ ...record, handler: 'broken' }], outbox.config().handling))
      .verdicts;
    expect(verdict).toMatchObject({ kind: 'delivery', state: 'waiting', delivery: { attempts: 1 } });
    expect(await deliveryOf(outbox.db, record.eventId, 'broken')).toMatchObject({ due: false });
  });
});

/** Keeps each due time that is written to `deliveries`. */
async function watchDueTimes(db: Database) {
  await ownerOf(db).query('CREATE TABLE due_times (event_id uuid, attempts integer, seconds float8, at bigserial)');
  await ownerOf(db).query(`CREATE FUNCTION keep_due_time() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO due_times VALUES (NEW.event_id, NEW.attempts, extract(epoch FROM NEW.next_at - NEW.touched_at));
    RETURN NULL; END $$`);
  await ownerOf(db).query(`CREATE TRIGGER keep_due_time AFTER INSERT OR UPDATE OF next_at ON :schema.deliveries
    FOR EACH ROW WHEN (NEW.state = 'waiting') EXECUTE FUNCTION keep_due_time()`);
  return {
    /** Attempts so far, and seconds until the next. */
    of: async (eventId: string) => {
      const { rows } = await db.query<{ attempts: number; seconds: number }>(
        'SELECT attempts, seconds FROM due_times WHERE event_id = $1 ORDER BY at',
        [eventId],
      );
      return rows.map(({ attempts, seconds }) => [attempts, Math.round(seconds * 100) / 100]);
    },
  };
}
