import type { WorkflowHandle } from '@temporalio/client';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { SEARCH_ATTRIBUTES } from '../../src/deliveries/searchAttributes';
import { defineHandler, type HandlerContext } from '../../src/handlers/defineHandler';
import type { DeliveryStatus } from '../../src/workflows/deliveryMessages';
import { deliveryOf, ledgerOf } from '../support/deliveries';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows } from '../support/handled';
import { TestOutbox } from '../support/outbox';
import { OwnServers } from '../support/ownServers';

/** A handler that does what the test says at each entry. */
function scripted(name: string, act: (entry: number, context: HandlerContext) => unknown) {
  let entries = 0;
  const attempts: number[] = [];
  const handler = defineHandler({
    name,
    events: ['ThingHappened'],
    run: (_, context) => {
      attempts.push(context.attempt);
      return act(++entries, context);
    },
  });
  return { handler, attempts };
}
const fail = (text: string): never => {
  throw new Error(text);
};
const HOUR = { OUTBOX_BACKOFF_FIRST_MS: '3600000', OUTBOX_BACKOFF_MAX_MS: '3600000' };

const runOf = (outbox: TestOutbox, id: string): WorkflowHandle =>
  outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, id));
const statusOf = (run: WorkflowHandle) => run.query<DeliveryStatus>('status');
const ended = (run: WorkflowHandle) =>
  eventually(async () => {
    const { status } = await run.describe();
    return status.name === 'RUNNING' ? undefined : status.name;
  });
async function waits(outbox: TestOutbox, id: string, handlers = 1): Promise<WorkflowHandle> {
  const run = runOf(outbox, id);
  await eventually(async () => {
    const { handlers: shown } = await statusOf(run);
    return shown.filter(({ state }) => state === 'waiting').length === handlers;
  });
  return run;
}

describe('a delivery run', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db', EVENT_QUEUE_MAX_ATTEMPTS: '4' });
  });
  afterEach(() => outbox.close());

  it('shows which handler waits, after how many attempts, why and until when, and can be found by its event', async () => {
    const broken = scripted('broken', () => fail('no such host'));
    const fine = scripted('fine', () => undefined);
    await outbox.startWorker(HOUR, { handlers: [broken.handler, fine.handler] });
    const [id = ''] = await enqueue(outbox.db, [event({ aggregateId: 'thing 7' })]);
    const run = await waits(outbox, id);
    const { handlers } = await statusOf(run);
    expect(handlers).toMatchObject([{ handler: 'broken', state: 'waiting', attempts: 1, reason: 'no such host' }]);
    expect(Math.abs(Date.parse(handlers[0]!.nextAt!) - Date.now() - 3_600_000)).toBeLessThan(30_000);
    const { typedSearchAttributes: found } = await run.describe();
    const { eventType, aggregateId, handler } = SEARCH_ATTRIBUTES;
    expect([found.get(eventType), found.get(aggregateId), found.get(handler)]).toEqual([
      'ThingHappened',
      'thing 7',
      ['broken'],
    ]);
    const query = `OutboxAggregateId = 'thing 7' AND WorkflowId = '${run.workflowId}'`;
    await eventually(async () => (await outbox.client.workflow.count(query)).count === 1);
  });

  it('tries at once when told to by retryNow: one handler by its name, else all', async () => {
    const first = scripted('first', (entry) => entry < 3 && fail('x'));
    const second = scripted('second', (entry) => entry < 2 && fail('y'));
    await outbox.startWorker(HOUR, { handlers: [first.handler, second.handler] });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    const run = await waits(outbox, id, 2);
    await run.signal('retryNow', { handler: 'first' });
    await eventually(() => first.attempts.length === 2);
    await waits(outbox, id, 2);
    expect(second.attempts).toEqual([1]);
    await run.signal('retryNow', {});
    expect(await ended(run)).toBe('COMPLETED');
    expect([first.attempts, second.attempts]).toEqual([
      [1, 2, 3],
      [1, 2],
    ]);
    await outbox.allDone();
    expect(await deliveryRows(outbox.db)).toEqual([]);
  });

  it('gives a handler up when told to skip it, with the reason, and ends when no other waits', async () => {
    const broken = scripted('broken', () => fail('x'));
    await outbox.startWorker(HOUR, { handlers: [broken.handler] });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    const run = await waits(outbox, id);
    await run.signal('skip', { handler: 'broken', reason: 'the customer is gone' });
    expect(await ended(run)).toBe('COMPLETED');
    expect(await deliveryOf(outbox.db, id, 'broken')).toMatchObject({
      state: 'skipped',
      reason: 'the customer is gone',
    });
    expect(await ledgerOf(outbox.db, id, 'broken')).toBe('done');
    await outbox.allDone();
    expect(broken.attempts).toEqual([1]);
  });

  it('skips a handler whose last attempt is under way when it is told to, instead of making a dead letter', async () => {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const broken = scripted('broken', async (entry) => {
      if (entry === 4) await gate;
      fail('x');
    });
    await outbox.startWorker(
      { OUTBOX_BACKOFF_FIRST_MS: '50', OUTBOX_BACKOFF_MAX_MS: '50' },
      { handlers: [broken.handler] },
    );
    const [id = ''] = await enqueue(outbox.db, [event()]);
    await eventually(() => broken.attempts.length === 4);
    const run = runOf(outbox, id);
    await run.signal('skip', { handler: 'broken', reason: 'never mind' });
    await eventually(async () => JSON.stringify((await run.fetchHistory()).events).includes('"skip"'));
    open();
    expect(await ended(run)).toBe('COMPLETED');
    expect(await deliveryOf(outbox.db, id, 'broken')).toMatchObject({ state: 'skipped', reason: 'never mind' });
    await outbox.allDone();
  });

  it('takes no notice of signals that it cannot read, and never fails a workflow task by them (C26)', async () => {
    let open: () => void = () => undefined;
    const told = new Promise<void>((resolve) => (open = resolve));
    // A retryNow that names no handler means all of them: the run must not end before it has been sent everything.
    const broken = scripted('broken', (entry) => (entry < 2 ? fail('x') : told));
    await outbox.startWorker(HOUR, { handlers: [broken.handler] });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    const run = await waits(outbox, id);
    const junk = [
      undefined,
      null,
      42,
      '',
      'x',
      {},
      [],
      [null],
      { handler: 7 },
      { handler: '', reason: '' },
      [{ handler: 'x'.repeat(9_000) }],
      [{ handler: 'skip' }],
      [{ handler: 'a b' }],
    ];
    for (const name of ['deliver', 'skip', 'no such signal', '__proto__'])
      for (const input of junk) await run.signal(name, ...(input === undefined ? [] : [input]));
    for (const input of junk.slice(1, 5)) await run.signal('retryNow', { handler: input });
    await run.signal('deliver', [{ handler: 'broken', attempts: -1, dueInMs: Number.NaN, reason: 9 }, 5]);
    await run.signal('retryNow');
    open();
    await allHandled(outbox.db, 'broken', 1);
    await outbox.allDone();
    const { events } = await run.fetchHistory();
    // A signal that meets the end of a task makes Temporal repeat the task: that is no failure of ours.
    const causes = events!.map((each) => each.workflowTaskFailedEventAttributes?.failure?.message);
    expect(causes.filter((message) => message && message !== 'UnhandledCommand')).toEqual([]);
  });

  it('is started again by a signal that comes as it ends: nothing that waits is ever without a run', async () => {
    const broken = scripted('broken', (_, { attempt }) => attempt === 1 && fail('x'));
    await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '50' }, { handlers: [broken.handler] });
    let taken = 0;
    // On a busy machine it may be that every run has ended before its first signal; others are asked then.
    for (let round = 1; taken === 0 && round <= 10; round++) {
      const ids: string[] = [];
      for (let n = 0; n < 10; n++) ids.push(...(await enqueue(outbox.db, [event({ aggregateId: `a${n}` })])));
      const runs = ids.map((id) => runOf(outbox, id));
      const counts = await Promise.all(runs.map(askForMore));
      await allHandled(outbox.db, 'broken', 10 * round);
      for (const [index, run] of runs.entries()) {
        expect(await ended(run)).toBe('COMPLETED');
        const { events } = await run.fetchHistory();
        const tried = new Set(events!.map((each) => each.activityTaskScheduledEventAttributes?.activityType?.name));
        expect([...tried].filter((name) => name?.startsWith('late')).length).toBe(counts[index]);
      }
      taken = counts.reduce((sum, count) => sum + count, 0);
    }
    expect(taken).toBeGreaterThan(0);
  });

  /** The moment that it sees the run. @returns how many signals were taken: a run that has ended by then takes none */
  async function askForMore(run: WorkflowHandle): Promise<number> {
    await eventually(() => run.describe());
    let taken = 0;
    for (let n = 0; n < 20; n++) {
      const waiting = [{ handler: `late${n}`, attempts: 0, dueInMs: 0, reason: null }];
      const asked = run.signal('deliver', waiting);
      taken += await asked.then(
        () => 1,
        () => 0,
      );
    }
    return taken;
  }
});

describe('a delivery run that continues as new', () => {
  it('keeps the attempts of a handler that goes on failing, and what another has ended', async () => {
    const own = new OwnServers();
    const temporal = await own.temporal(['--dynamic-config-value', 'limit.historyCount.suggestContinueAsNew=25']);
    const outbox = await TestOutbox.create({
      EVENT_BUS_BACKEND: 'db',
      TEMPORAL_ADDRESS: temporal.url,
      EVENT_QUEUE_MAX_ATTEMPTS: '12',
    });
    try {
      const patient = scripted('patient', (entry) => entry < 2 && fail('y'));
      const broken = scripted('broken', (entry) => entry < 9 && fail('x'));
      const settings = { OUTBOX_BACKOFF_FIRST_MS: '50', OUTBOX_BACKOFF_MAX_MS: '50' };
      await outbox.startWorker(settings, { handlers: [patient.handler, broken.handler] });
      const [id = ''] = await enqueue(outbox.db, [event()]);
      await allHandled(outbox.db, 'broken', 1);
      await outbox.allDone();
      expect(broken.attempts).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(patient.attempts).toEqual([1, 2]);
      const { workflowId } = runOf(outbox, id);
      await eventually(async () => {
        const runs: string[] = [];
        for await (const { status } of outbox.client.workflow.list({ query: `WorkflowId = '${workflowId}'` }))
          runs.push(status.name);
        return runs.includes('CONTINUED_AS_NEW') && runs.filter((name) => name === 'COMPLETED').length === 1;
      });
    } finally {
      await outbox.close();
      await own.close();
    }
  }, 120_000);
});
