import { defineHandler, type HandlerContext } from '../../src/handlers/defineHandler';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows, unfinished } from '../support/handled';
import { TestOutbox } from '../support/outbox';
import { Proxy } from '../support/proxy';

/** What a busy machine adds. */
const BUSY_MS = process.env.OUTBOX_TEST_LONG === 'on' ? 0 : 18_000;

/** A handler under the test's control. */
function controlled(run: (entry: number, context: HandlerContext, n: number) => unknown, timeoutMs = 60_000) {
  const contexts: HandlerContext[] = [];
  const handler = defineHandler({
    name: 'call',
    events: ['ThingHappened'],
    timeoutMs,
    run: ({ payload }, context) => {
      contexts.push(context);
      return run(contexts.length, context, (payload as { n: number }).n);
    },
  });
  return { handler, contexts };
}
const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(new Error('told to stop', { cause: signal.reason })), { once: true }),
  );
const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function waitsForLock({ db, database }: TestOutbox, statement: string): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND query LIKE '%/* outbox: ' || $1 || ' */%' AND query LIKE '%' || $2 || '%'`,
    [statement, database.schema],
  );
  return rows.length > 0;
}

describe.each(['db', 'nats'])('a handler that is interrupted, backend %s', (backend) => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend, EVENT_QUEUE_MAX_ATTEMPTS: '3' });
  });
  afterEach(() => outbox.close());

  it('hears of its time-out by the signal, which is a failed attempt that says so', async () => {
    const { handler, contexts } = controlled((entry, { signal }) => entry < 2 && aborted(signal), 200);
    await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '5000' }, { handlers: [handler] });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    const [row] = await eventually(async () => {
      const rows = await deliveryRows(outbox.db);
      return rows.length > 0 ? rows : undefined;
    });
    expect(row).toMatchObject({ attempts: 1, failure_reason: 'it took longer than 200 ms' });
    await allHandled(outbox.db, 'call', 1);
    expect(contexts.map(({ attempt, idempotencyKey }) => [attempt, idempotencyKey])).toEqual([
      [1, `${id}:call`],
      [2, `${id}:call`],
    ]);
    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  });

  it('is given up some seconds after its time-out when it takes no notice, and the next attempt goes on beside it', async () => {
    const forever = new Promise(() => undefined);
    const { handler, contexts } = controlled((entry) => entry < 2 && forever, 200);
    await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '100' }, { handlers: [handler] });
    await enqueue(outbox.db, [event(), event({ aggregateId: 'b' })]);
    await eventually(() => contexts.length === 2);
    await allHandled(outbox.db, 'call', 2);
    await outbox.allDone();
    expect(contexts.length).toBe(3);
    expect(await unfinished(outbox.db)).toEqual({ inProgress: 0, waiting: 0 });
  });

  it('is told when its ledger claim is lost, and what it did then is not counted as done', async () => {
    const reasons: unknown[] = [];
    const { handler } = controlled((entry, { signal }) =>
      entry > 1 ? undefined : aborted(signal).catch(() => void reasons.push(String(signal.reason))),
    );
    await outbox.startWorker({ OUTBOX_LEDGER_RENEW_MS: '300' }, { handlers: [handler] });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    await eventually(async () => (await unfinished(outbox.db)).inProgress === 1);
    await outbox.db.query(
      `UPDATE :schema.processed_events SET started_at = started_at + interval '1 ms' WHERE event_id = $1`,
      [id],
    );
    await eventually(() => reasons.length === 1);
    expect(reasons[0]).toMatch(/took its ledger claim over/);
    // Whoever has the claim now sees it through; its lease is over when it does not.
    expect(await unfinished(outbox.db)).toMatchObject({ inProgress: 1 });
  });

  it('that takes a second ends done when the worker is told to stop, and nothing new begins', async () => {
    const begun: number[] = [];
    let told = (): void => undefined;
    const stop = new Promise<void>((resolve) => (told = resolve));
    const { handler } = controlled(async (_, __, n) => {
      begun.push(n);
      await stop;
      await after(1_000);
    });
    // Long: what the next worker gets was given back.
    outbox.settings.OUTBOX_ACK_WAIT_MS = '600000';
    const worker = await outbox.startWorker({ OUTBOX_CONCURRENCY: '2' }, { handlers: [handler] });
    await enqueue(
      outbox.db,
      events(12, (n) => ({ aggregateId: `a${n}` })),
    );
    await eventually(() => begun.length === 2);
    const stopped = worker.stop();
    told();
    await stopped;
    expect(begun.length).toBe(2);
    expect(await unfinished(outbox.db)).toEqual({ inProgress: 0, waiting: 0 });
    await allHandled(outbox.db, 'call', 2);
    expect(await deliveryRows(outbox.db)).toEqual([]);
    if (backend === 'db') expect(await outbox.rowsByStatus()).toEqual({ done: 2, pending: 10 });
    const quick = controlled(() => undefined);
    await outbox.startWorker({}, { handlers: [quick.handler] });
    await allHandled(outbox.db, 'call', 12);
    expect([quick.contexts.length, quick.contexts.every(({ attempt }) => attempt === 1)]).toEqual([10, true]);
  });

  it.each([
    ['first', 'claim ledger', true],
    ['first', 'claim ledger', false],
    ['second', 'begin attempt', true],
    ['second', 'begin attempt', false],
  ] as const)(
    'does not begin its %s attempt when its worker is told to stop while it asks to %s; transactional: %s',
    async (which, statement, transactional) => {
      let begun = 0;
      const before = which === 'first' ? 0 : 1;
      const run = () => {
        if (begun++ < before) throw new Error('no');
      };
      const call = { name: 'call', events: ['ThingHappened'], run } as const;
      const handlers = [transactional ? defineHandler({ ...call, transactional: true }) : defineHandler(call)];
      // What is not given back would be waited for.
      Object.assign(outbox.settings, { OUTBOX_ACK_WAIT_MS: '600000', OUTBOX_BACKOFF_FIRST_MS: '3000' });
      const worker = await outbox.startWorker({}, { handlers });
      const blocker = await outbox.db.pool.connect();
      try {
        if (before > 0) {
          await enqueue(outbox.db, [event()]);
          await eventually(async () => (await deliveryRows(outbox.db)).length === 1);
        }
        await blocker.query(`BEGIN; LOCK TABLE ${outbox.database.schema}.processed_events IN EXCLUSIVE MODE`);
        if (before === 0) await enqueue(outbox.db, [event()]);
        await eventually(() => waitsForLock(outbox, statement));
        const stopped = worker.stop();
        await blocker.query('COMMIT');
        await stopped;
      } finally {
        blocker.release(true);
      }
      expect(begun).toBe(before);
      expect(await unfinished(outbox.db)).toEqual({ inProgress: 0, waiting: before });
      await outbox.startWorker({}, { handlers });
      await allHandled(outbox.db, 'call', 1);
      expect(begun).toBe(before + 1);
    },
  );

  it('that outlasts the grace is told by its signal, spends no attempt, and is handled by the next worker (C39)', async () => {
    const slow = controlled((_, { signal }) => aborted(signal));
    const graceMs = 2_000;
    const worker = await outbox.startWorker({ OUTBOX_SHUTDOWN_GRACE_MS: `${graceMs}` }, { handlers: [slow.handler] });
    await enqueue(outbox.db, [event()]);
    await eventually(() => slow.contexts.length === 1);
    const began = performance.now();
    await worker.stop();
    // Without the signal it would not end at all.
    expect(performance.now() - began).toBeLessThan(graceMs + 5_000 + BUSY_MS);
    expect(slow.contexts[0]!.signal.aborted).toBe(true);
    expect(await unfinished(outbox.db)).toEqual({ inProgress: 0, waiting: 0 });
    expect(await deliveryRows(outbox.db)).toEqual([]);
    const next = controlled(() => undefined);
    await outbox.startWorker({}, { handlers: [next.handler] });
    await allHandled(outbox.db, 'call', 1);
    expect(next.contexts.map(({ attempt }) => attempt)).toEqual([1]);
  });

  it.each(['fails', 'ends'])('that %s while PostgreSQL is away and its worker stops is not lost', async (how) => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const { handler, contexts } = controlled(async (entry) => {
      if (entry > 1) return;
      await released;
      if (how === 'fails') throw new Error('no');
    });
    const settings = { OUTBOX_LEDGER_LEASE_MS: '2500', OUTBOX_LEDGER_RENEW_MS: '700', OUTBOX_BACKOFF_FIRST_MS: '300' };
    const proxy = await Proxy.to(outbox.database.url);
    const away = { DATABASE_URL: proxy.url(outbox.database.url), OUTBOX_SHUTDOWN_GRACE_MS: '2000' };
    const worker = await outbox.startWorker({ ...settings, ...away }, { handlers: [handler] });
    await enqueue(outbox.db, [event()]);
    await eventually(() => contexts.length === 1);
    proxy.takeAway();
    release();
    await worker.stop();
    await proxy.close();
    await outbox.startWorker(settings, { handlers: [handler] });
    await allHandled(outbox.db, 'call', 1);
    await outbox.allDone();
    expect(contexts.length).toBe(2);
    expect(await unfinished(outbox.db)).toEqual({ inProgress: 0, waiting: 0 });
  });

  it('by the loss of all database connections of its worker ends done, and its effect is there once (C38)', async () => {
    await outbox.db.query('CREATE TABLE effects (event_id uuid)');
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const { handler, contexts } = controlled(() => released);
    const inside = defineHandler({
      name: 'inside',
      events: ['ThingHappened'],
      transactional: true,
      run: async ({ eventId }, { tx }) => {
        await tx.query('INSERT INTO effects (event_id) VALUES ($1)', [eventId]);
        await released;
      },
    });
    await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '100' }, { handlers: [handler, inside] });
    const [id] = await enqueue(outbox.db, [event()]);
    await eventually(() => contexts.length === 1);
    await eventually(
      async () => {
        const { rows } = await outbox.db.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`,
        );
        return rows.length === 1;
      },
      undefined,
      'an open effect',
    );
    await outbox.db.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    release();
    for (const name of ['call', 'inside']) await allHandled(outbox.db, name, 1);
    await outbox.allDone();
    expect(await unfinished(outbox.db)).toEqual({ inProgress: 0, waiting: 0 });
    expect((await outbox.db.query('SELECT event_id FROM effects')).rows).toEqual([{ event_id: id }]);
    expect(contexts.length).toBe(1);
  });

  it('that is cut short by a stop on its delivery run keeps its attempts too', async () => {
    const { handler, contexts } = controlled((entry, { signal }) => {
      if (entry === 1) throw new Error('the first time');
      return entry === 2 ? aborted(signal) : undefined;
    });
    const worker = await outbox.startWorker(
      { OUTBOX_BACKOFF_FIRST_MS: '100', OUTBOX_SHUTDOWN_GRACE_MS: '2000' },
      { handlers: [handler] },
    );
    await enqueue(outbox.db, [event()]);
    await eventually(() => contexts.length === 2);
    await worker.stop();
    expect(await deliveryRows(outbox.db)).toMatchObject([{ state: 'waiting', attempts: 1 }]);
    expect(await unfinished(outbox.db)).toEqual({ inProgress: 0, waiting: 1 });
    await outbox.startWorker({}, { handlers: [handler] });
    await allHandled(outbox.db, 'call', 1);
    expect(contexts.map(({ attempt }) => attempt)).toEqual([1, 2, 2]);
    await outbox.allDone();
  });
});
