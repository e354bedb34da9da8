import { defineEvent } from '../../src/handlers/defineEvent';
import { defineHandler } from '../../src/handlers/defineHandler';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { listDead } from '../../src/deadLetters/list';
import { ownerOf } from '../support/database';
import { ledgerOf } from '../support/deliveries';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows, unfinished } from '../support/handled';
import { TestOutbox } from '../support/outbox';
import '../support/printedRoles';

const LONG = process.env.OUTBOX_TEST_LONG === 'on';
const Thing = defineEvent<'ThingHappened', { n: number }>('ThingHappened');

/** One table for both backends: the same attempts, the same schedule, the same dead letters, the same re-emit. */
describe.each(['db', 'nats'])('backend %s', (backend) => {
  let outbox: TestOutbox;

  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: backend, EVENT_QUEUE_MAX_ATTEMPTS: '5' });
    await ownerOf(outbox.db).query('CREATE TABLE effects (event_id uuid, n integer, entered bigserial)');
  });
  afterEach(() => outbox.close());

  const effects = async () =>
    (await outbox.db.query<{ event_id: string; n: number }>('SELECT event_id, n FROM effects ORDER BY entered')).rows;
  const indexer = defineHandler({
    name: 'indexer',
    events: [Thing],
    transactional: true,
    run: async ({ eventId, payload }, { tx }) => {
      await tx.query('INSERT INTO effects (event_id, n) VALUES ($1, $2)', [eventId, payload.n]);
    },
  });

  it('handles every event once with each of its handlers, and starts no delivery run', async () => {
    const called = new Map<string, number>();
    const caller = defineHandler({
      name: 'caller',
      events: [Thing],
      run: ({ eventId }) => void called.set(eventId, (called.get(eventId) ?? 0) + 1),
    });
    const { logs } = await outbox.startWorker({}, { handlers: [indexer, caller] });
    const ids = await enqueue(
      outbox.db,
      events(500, (index) => ({ aggregateId: `a${index % 20}` })),
    );
    await allHandled(outbox.db, 'indexer', 500);
    await allHandled(outbox.db, 'caller', 500);
    await outbox.allDone();
    expect((await effects()).map((row) => row.event_id).sort()).toEqual([...ids].sort());
    expect([...called.values()].every((count) => count === 1)).toBe(true);
    expect(await unfinished(outbox.db)).toEqual({ inProgress: 0, waiting: 0 });
    expect(await deliveryRows(outbox.db)).toEqual([]);
    expect(logs.filter(({ level }) => (level as number) >= 40)).toEqual([]);
  });

  it('handles the events of one aggregate in their order, also while others overtake them', async () => {
    const seen: Record<string, number[]> = {};
    const slow = defineHandler({
      name: 'slow',
      events: [Thing],
      run: async ({ aggregateId, payload }) => {
        await new Promise((resolve) => setTimeout(resolve, payload.n % 7));
        (seen[aggregateId] ??= []).push(payload.n);
      },
    });
    await outbox.startWorker({}, { handlers: [slow, indexer] });
    for (let batch = 0; batch < 5; batch++)
      await enqueue(
        outbox.db,
        events(60, (n) => ({ aggregateId: `a${n % 6}`, payload: { n: batch * 60 + n } })),
      );
    await allHandled(outbox.db, 'slow', 300);
    for (const numbers of Object.values(seen)) expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    await allHandled(outbox.db, 'indexer', 300);
    const byAggregate = new Map<number, number[]>();
    for (const { n } of await effects()) byAggregate.set(n % 6, [...(byAggregate.get(n % 6) ?? []), n]);
    expect(byAggregate.size).toBe(6);
    for (const numbers of byAggregate.values()) expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
  });

  it('tries a failing handler on the shared schedule, then it is done (C31)', async () => {
    const times: number[] = [];
    const flaky = defineHandler({
      name: 'flaky',
      events: [Thing],
      run: () => {
        times.push(performance.now());
        if (times.length < 5) throw new Error(`try ${times.length}`);
      },
    });
    // Shortened: the first wait is 0.3 s and the longest 1 s, instead of 5 s and 300 s.
    const schedule = LONG ? [5_000, 10_000, 20_000, 40_000] : [300, 600, 1_000, 1_000];
    const { logs } = await outbox.startWorker(
      { OUTBOX_BACKOFF_FIRST_MS: `${schedule[0]}`, OUTBOX_BACKOFF_MAX_MS: LONG ? '300000' : '1000' },
      { handlers: [flaky] },
    );
    await enqueue(outbox.db, [event()]);
    await allHandled(outbox.db, 'flaky', 1, LONG ? 120_000 : undefined);
    await outbox.allDone();
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    // Never early. How late is the machine's affair but in the long tests: the schedule is what is said below.
    schedule.forEach((gap, index) => expect(gaps[index]).toBeGreaterThan(gap - (LONG ? 200 : 50)));
    if (LONG) expect(Math.max(...schedule.map((gap, index) => gaps[index]! - gap))).toBeLessThan(2_000);
    expect(await deliveryRows(outbox.db)).toEqual([]);
    const told = logs.filter(({ msg }) => msg === 'A handler failed and is tried again');
    expect(told).toMatchObject(
      [1, 2, 3, 4].map((n) => ({ level: 30, handler: 'flaky', attempt: n, reason: `try ${n}` })),
    );
    expect(told.map(({ dueInMs }) => 100 * Math.round(Number(dueInMs) / 100))).toEqual(schedule);
  });

  it('makes what keeps failing a dead letter after the attempts, says so once, and its run ends failed (C30)', async () => {
    let calls = 0;
    const broken = defineHandler({
      name: 'broken',
      events: [Thing],
      run: () => {
        calls++;
        throw new Error('the service is down');
      },
    });
    const settings = { EVENT_QUEUE_MAX_ATTEMPTS: '3', OUTBOX_BACKOFF_FIRST_MS: '50' };
    const { logs } = await outbox.startWorker(settings, { handlers: [broken, indexer] });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    const run = outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, id));
    await eventually(async () => (await run.describe()).status.name === 'FAILED');
    expect(calls).toBe(3);
    expect(await deliveryRows(outbox.db)).toMatchObject([
      { event_id: id, handler: 'broken', state: 'dead', attempts: 3, failure_reason: 'the service is down' },
    ]);
    expect(await ledgerOf(outbox.db, id, 'broken')).not.toBe('done');
    const exhausted = logs.filter(({ msg }) => msg === 'event exhausted max deliveries');
    expect(exhausted).toMatchObject([{ level: 50, eventId: id, handler: 'broken', attempt: 3 }]);
    expect(await listDead(outbox.db.pool, { schema: outbox.db.schema })).toMatchObject([
      { eventId: id, handler: 'broken', attempts: 3 },
    ]);
    const byStatus = await eventually(async () => {
      const rows = await outbox.rowsByStatus();
      return rows.retrying || rows.processing || rows.pending ? undefined : rows;
    });
    expect(byStatus).toEqual(backend === 'db' ? { dead_lettered: 1 } : { done: 1 });
    await allHandled(outbox.db, 'indexer', 1);
    // Still in the stream, for whoever wants to see it.
    if (backend === 'nats') expect(await outbox.streamCounts()).toEqual(new Map([[id, 1]]));
  });
});
