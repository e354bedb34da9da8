import { jetstream } from '@nats-io/jetstream';
import { headers } from 'nats';
import { randomUUID } from 'node:crypto';
import { handOver } from '../../src/deliveries/handOver';
import { skipDelivery } from '../../src/deliveries/skip';
import { defineHandler } from '../../src/handlers/defineHandler';
import { claimLedger, type LedgerClaim, type LedgerVerdict } from '../../src/ledger/claim';
import { finishLedger } from '../../src/ledger/finish';
import { openDatabase, type Database } from '../../src/postgres/database';
import { CrashWorld, PATIENCE_MS } from '../crash/world';
import { claimed, eventRecord } from '../support/attempts';
import { deliveryOf, insertDelivery, insertLedger, ledgerOf } from '../support/deliveries';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows, unfinished } from '../support/handled';
import { ANY_PORT, endpointOf, scrape, total } from '../support/metrics';
import { TestOutbox } from '../support/outbox';

const LONG = process.env.OUTBOX_TEST_LONG === 'on';
/** In which two workers have one event at the same time. */
const ROUNDS = LONG ? 200 : 20;
const TIMES = { leaseMs: 30_000, maxLeaseMs: 1_800_000 };

describe('the ledger', () => {
  let outbox: TestOutbox;
  let db: Database;

  beforeAll(async () => {
    outbox = await TestOutbox.create();
    db = outbox.db;
  });
  afterAll(() => outbox.close());

  const claim = async (eventId: string): Promise<LedgerVerdict> =>
    (await claimLedger(db, [{ eventId, handler: 'mail' }], TIMES)).verdicts[0]!;
  const runner = (text: string, values: unknown[]) => db.query<never>(text, values);

  it('lets one of two claims that race win and the other wait, in 200 rounds, without a failed statement (C17)', async () => {
    const { url } = outbox.database;
    const rivals = [1, 2].map(() => openDatabase({ url, schema: db.schema, poolSize: 1 }));
    await Promise.all(rivals.map((rival) => rival.query('SELECT 1')));
    for (let round = 0; round < 200; round++) {
      const eventIds = Array.from({ length: 1 + (round % 5) }, () => randomUUID());
      const keys = eventIds.map((eventId) => ({ eventId, handler: 'mail' }));
      const answers = await Promise.all(rivals.map((rival) => claimLedger(rival, keys, TIMES)));
      keys.forEach((_, index) => {
        const kinds = answers.map(({ verdicts }) => verdicts[index]!.kind).sort();
        expect(kinds).toEqual(['claimed', 'held']);
      });
    }
    const failed = await failedStatements(db, () => Promise.all(rivals.map((rival) => rival.close())));
    expect(failed).toBe(0);
  });

  it('does not deadlock when two claims take the same many events in opposite order', async () => {
    const keys = Array.from({ length: 500 }, () => ({ eventId: randomUUID(), handler: 'mail' }));
    const answers = await Promise.all([claimLedger(db, keys, TIMES), claimLedger(db, [...keys].reverse(), TIMES)]);
    const wins = answers.map(({ verdicts }) => verdicts.filter(({ kind }) => kind === 'claimed').length);
    expect(wins[0]! + wins[1]!).toBe(500);
  });

  it('gives a key that is asked for twice in one statement to the first that asks, and not to both', async () => {
    const key = { eventId: randomUUID(), handler: 'mail' };
    const { verdicts } = await claimLedger(db, [key, key], TIMES);
    expect(verdicts).toMatchObject([{ kind: 'claimed' }, { kind: 'held' }]);
  });

  it('hands one handling over once, by its owner, whoever else waits for it in the same statement or later', async () => {
    const record = eventRecord();
    const startedAt = await claimed(db, record.eventId, 'mail');
    const common = { event: record, handler: 'mail', dead: false };
    const owner = { ...common, startedAt, attempts: 1, dueInMs: 5_000, reason: 'it failed' };
    const waiter = { ...common, startedAt: null, attempts: 0, dueInMs: 30_000, reason: 'another worker is at work' };
    const written = await handOver(db, [waiter, owner, waiter]);
    await handOver(db, [waiter]);
    expect(written).toMatchObject([{ attempts: 1, reason: 'it failed' }]);
    const { rows } = await db.query<{ seconds: number }>(
      `SELECT extract(epoch FROM next_at - touched_at)::float8 AS seconds FROM :schema.deliveries WHERE event_id = $1`,
      [record.eventId],
    );
    expect(rows[0]!.seconds).toBeCloseTo(5, 2);
    expect(await deliveryOf(db, record.eventId)).toMatchObject({ attempts: 1, reason: 'it failed' });
  });

  it('refuses an event that is done, or has a delivery in any state', async () => {
    const done = randomUUID();
    await insertLedger(db, done, 'mail', 'done');
    expect(await claim(done)).toEqual({ kind: 'done' });
    for (const state of ['waiting', 'dead', 'skipped'] as const) {
      const id = await insertDelivery(db, { state, foreign: true });
      expect(await claim(id)).toMatchObject({ kind: 'delivery', state });
      expect(await ledgerOf(db, id)).toBeUndefined();
    }
  });

  it('lets 1,000 owners in as many different milliseconds finish their claims', async () => {
    const ids = Array.from({ length: 1_000 }, () => randomUUID());
    const claims: LedgerClaim[] = [];
    for (let at = 0; at < ids.length; at += 10) {
      const keys = ids.slice(at, at + 10).map((eventId) => ({ eventId, handler: 'mail' }));
      const { verdicts } = await claimLedger(db, keys, TIMES);
      verdicts.forEach((verdict, index) => {
        if (verdict.kind === 'claimed') claims.push({ ...keys[index]!, startedAt: verdict.startedAt });
      });
    }
    expect((await finishLedger(runner, claims)).size).toBe(1_000);
  });

  it('does not let the owner of a claim finish what an operator has skipped meanwhile', async () => {
    const [id = ''] = await enqueue(db, [event()]);
    const startedAt = await claimed(db, id, 'mail', -1);
    expect(await skipDelivery(db, id, 'mail', 'on purpose')).toBe('skipped');
    expect((await finishLedger(runner, [{ eventId: id, handler: 'mail', startedAt }])).size).toBe(0);
    expect(await ledgerOf(db, id)).toBe('done');
  });
});

describe.each(['db', 'nats'])('handled once, backend %s', (backend) => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend, OUTBOX_DUPLICATE_WINDOW_MS: '100' });
  });
  afterEach(() => outbox.close());

  it('forgets after a long downtime what was done 30 days ago, and handles only that again; what is younger or not done stays (C18)', async () => {
    const counts = new Map<string, number>();
    const mail = defineHandler({
      name: 'mail',
      events: ['ThingHappened'],
      run: ({ eventId }) => void counts.set(eventId, (counts.get(eventId) ?? 0) + 1),
    });
    // The schedule is there, and its time comes while no worker runs.
    const before = await outbox.startWorker({}, { handlers: [mail] });
    await eventually(async () => (await outbox.maintenance().describe()).info.recentActions.length > 0);
    await before.stop();
    await outbox.maintenance().trigger();

    const [young, old, running, dead] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    const [scheduled = ''] = await enqueue(outbox.db, [
      event({ availableAt: new Date(Date.now() + 86_400_000), aggregateId: 'c' }),
    ]);
    await outbox.db.query(
      `UPDATE :schema.event_queue SET occurred_at = clock_timestamp() - interval '90 days' WHERE event_id = $1`,
      [scheduled],
    );
    await insertLedger(outbox.db, young, 'mail', 'done');
    await insertLedger(outbox.db, old, 'mail', 'done');
    await insertLedger(outbox.db, running, 'mail', 'NULL');
    const age = (id: string, interval: string) =>
      outbox.db.query(
        `UPDATE :schema.processed_events SET started_at = clock_timestamp() - $2::interval,
                processed_at = CASE WHEN status = 'done' THEN clock_timestamp() - $2::interval END WHERE event_id = $1`,
        [id, interval],
      );
    await age(young, '29 days 23 hours');
    await age(old, '30 days 1 hour');
    await age(running, '40 days');
    await outbox.db.query(
      `INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload, status, failed_at, failure_reason)
       VALUES ($1, 'ThingHappened', 'thing', 'a', '{}', 'dead_lettered', clock_timestamp() - interval '90 days', 'no')`,
      [dead],
    );
    await outbox.startWorker({}, { handlers: [mail] });
    await eventually(async () => (await ledgerOf(outbox.db, old)) === undefined);
    await enqueue(outbox.db, [event({ eventId: young }), event({ eventId: old, aggregateId: 'b' })]);
    await allHandled(outbox.db, 'mail', 2);
    await eventually(async () => (await outbox.rowsByStatus()).done === 2);
    expect([counts.get(young), counts.get(old)]).toEqual([undefined, 1]);
    expect(await ledgerOf(outbox.db, running)).toBe('in_progress');
    expect(await outbox.rowsByStatus()).toEqual({ done: 2, dead_lettered: 1, pending: 1 });
  });

  if (backend === 'nats')
    it('runs an event once that two workers get at the same time, and skips it when it comes again later (C17)', async () => {
      const counts = new Map<string, number>();
      let open: () => void = () => undefined;
      const gate = new Promise<void>((resolve) => (open = resolve));
      const mail = defineHandler({
        name: 'mail',
        events: ['ThingHappened'],
        run: async ({ eventId }) => {
          counts.set(eventId, (counts.get(eventId) ?? 0) + 1);
          await gate;
        },
      });
      // Room for all twenty and no more: while they are in hand, the second worker gets what comes. It waits for as long
      // as the first one's lease has left.
      const settings = {
        OUTBOX_CONCURRENCY: '5',
        OUTBOX_LEDGER_LEASE_MS: '12000',
        OUTBOX_LEDGER_RENEW_MS: '1000',
      };
      const workers = [await outbox.startWorker(settings, { handlers: [mail] })];
      const ids = await enqueue(
        outbox.db,
        events(20, (n) => ({ aggregateId: `a${n}` })),
      );
      const { stream, durable } = outbox.config().nats;
      const info = () => outbox.manager.consumers.info(stream, durable);
      await eventually(async () => counts.size === 5 && (await info()).delivered.stream_seq === 20);
      workers.push(await outbox.startWorker(settings, { handlers: [mail] }));
      await publishAgain(outbox);
      await eventually(async () => (await info()).delivered.stream_seq >= 40);
      const waiting = await eventually(async () => (await unfinished(outbox.db)).waiting);
      expect((await deliveryRows(outbox.db)).filter(({ attempts }) => attempts > 0)).toEqual([]);
      open();
      await allHandled(outbox.db, 'mail', 20);
      await publishAgain(outbox);
      await eventually(async () => (await info()).ack_floor.stream_seq === 60);
      await eventually(async () => (await unfinished(outbox.db)).waiting === 0);
      expect(waiting).toBeGreaterThan(0);
      expect([...counts.keys()].sort()).toEqual([...ids].sort());
      expect([...counts.values()]).toEqual(Array(20).fill(1));
      const logs = JSON.stringify(workers.map((worker) => worker.logs));
      expect(logs).not.toMatch(/23505|duplicate key|transaction is aborted|deadlock/);
    });
});

it('runs an event once of which two workers get a message each in the same moment, and spends no attempt on it (C17)', async () => {
  // The leases are long: a worker that stands still beyond its own may see its event run elsewhere.
  const settings = {
    ...{ EVENT_BUS_BACKEND: 'nats', OUTBOX_LEDGER_LEASE_MS: '15000', OUTBOX_LEDGER_RENEW_MS: '3000' },
    ...{ OUTBOX_ACK_WAIT_MS: '10000', OUTBOX_HEARTBEAT_TIMEOUT_MS: '5000', OUTBOX_OWN_QUEUE_TIMEOUT_MS: '3000' },
  };
  await CrashWorld.during(settings, async (world) => {
    const workers = [await world.worker(ANY_PORT), await world.worker(ANY_PORT)];
    const { nats, db } = world.outbox;
    const subject = `${world.outbox.config().nats.subjectPrefix}.thing.Outside`;
    const ids: string[] = [];
    const send = async (id: string) => {
      ids.push(id);
      // Two ids to the broker and one event, as letters of an id may be of either size. Both leave in one write.
      for (const msgId of [id, id.toUpperCase()]) {
        const fields = headers();
        fields.set('Nats-Msg-Id', msgId);
        nats.publish(subject, JSON.stringify({ ms: 300 }), { headers: fields });
      }
      await eventually(() => world.entries(id).length > 0, PATIENCE_MS, 'a handler at work');
    };
    // The broker gives some pairs to one worker; those are none of the rounds.
    const rounds = async () => {
      const samples = await Promise.all(workers.map(async (worker) => scrape(await endpointOf(worker))));
      const met = samples.map((each) => total(each, 'outbox_handler_deferrals_total', { reason: 'held elsewhere' }));
      return met[0]! + met[1]!;
    };
    while ((await rounds()) < ROUNDS && ids.length < 10 * ROUNDS) for (let n = 0; n < 10; n++) await send(randomUUID());
    expect(await rounds()).toBeGreaterThanOrEqual(ROUNDS);
    expect((await deliveryRows(db)).filter(({ attempts }) => attempts > 0)).toEqual([]);
    await allHandled(db, 'external', ids.length, PATIENCE_MS);
    // Who came second waits for the lease that it met, and is spared.
    await eventually(async () => (await world.unacknowledged()) === 0, PATIENCE_MS, 'all messages acknowledged');
    await eventually(async () => (await deliveryRows(db)).length === 0, PATIENCE_MS, 'nobody who waits');
    expect(await unfinished(db)).toEqual({ inProgress: 0, waiting: 0 });
    expect(ids.map((id) => world.entries(id).map(({ attempt }) => attempt))).toEqual(ids.map(() => [1]));
    const logs = workers.flatMap((worker) => worker.logs).join('\n');
    expect(logs).not.toMatch(/23505|duplicate key|transaction is aborted|deadlock/);
  });
}, 480_000);

/** The same twenty events once more, under the same ids: a publisher that forgot them, past the duplicate window. */
async function publishAgain(outbox: TestOutbox): Promise<void> {
  for (const { subject, body, headers: fields } of (await outbox.messages()).slice(0, 20)) {
    const copy = headers();
    for (const [name, value] of Object.entries(fields)) copy.set(name, value);
    await eventually(async () => !(await jetstream(outbox.nats).publish(subject, body, { headers: copy })).duplicate);
  }
}

/** Statements that failed in this database since it was made. @param flush ends the connections that are looked at */
async function failedStatements(db: Database, flush: () => Promise<unknown>): Promise<number> {
  await flush();
  const read = async () =>
    (
      await db.query<{ commits: number; rollbacks: number }>(
        `SELECT xact_commit::integer AS commits, xact_rollback::integer AS rollbacks
           FROM pg_stat_database WHERE datname = current_database()`,
      )
    ).rows[0]!;
  // Their counts are there when they are: each of the 200 rounds is two statements.
  return (await eventually(async () => ((await read()).commits >= 400 ? read() : undefined))).rollbacks;
}
