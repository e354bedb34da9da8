import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { defineHandler } from '../../src/handlers/defineHandler';
import { DeliveryRuns, RunRefusedError } from '../../src/temporal/deliveryRuns';
import { enqueue, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows } from '../support/handled';
import { TestOutbox } from '../support/outbox';

describe('the starts of delivery runs', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db' });
  });
  afterEach(() => outbox.close());

  const anEvent = () => ({ eventId: randomUUID(), eventType: 'T', aggregateType: 't', aggregateId: 'a' });
  const start = (runs: DeliveryRuns, count: number) =>
    Promise.all(Array.from({ length: count }, () => runs.start(anEvent(), [])));

  it('tell a server that refuses from one that is away', async () => {
    const runs = new DeliveryRuns({ ...outbox.config(), deliveryTaskQueue: `${'x'.repeat(2_000)}/deliveries` });
    runs.use(outbox.client);
    await expect(runs.start(anEvent(), [])).rejects.toThrow(RunRefusedError);
    await expect(runs.start(anEvent(), [])).rejects.toThrow(/length exceeds limit/);
    runs.use(undefined);
    await expect(runs.start(anEvent(), [])).rejects.toThrow('Temporal is away');
  });

  it('give way while Temporal answers slower than it can, and come back to their rate', async () => {
    const runs = new DeliveryRuns(outbox.config({ OUTBOX_RUN_STARTS_PER_SECOND: '1000' }));
    let delayMs = 0;
    runs.use(slowed(outbox.client, () => delayMs));
    await start(runs, 10);
    delayMs = 200;
    await start(runs, 10);
    const slowMs = await took(() => start(runs, 5));
    // At the full rate, eight at a time, five take as long as one.
    expect(slowMs).toBeGreaterThan(1_000);
    delayMs = 0;
    await start(runs, 30);
    await eventually(async () => (await took(() => start(runs, 5))) < slowMs);
  }, 120_000);

  it('are left to the sweep when many fail at once, and each event has one run and one effect', async () => {
    const EVENTS = 250;
    const effects: string[] = [];
    const failsOnce = defineHandler({
      name: 'mail',
      events: ['ThingHappened'],
      run: ({ eventId }, { attempt }) => {
        if (attempt === 1) throw new Error('not yet');
        effects.push(eventId);
      },
    });
    const begun = new Date();
    const worker = await outbox.startWorker(
      {
        ...{ OUTBOX_RUN_STARTS_PER_SECOND: '25', OUTBOX_SWEEP_MS: '500', OUTBOX_BACKOFF_FIRST_MS: '1000' },
        // As by default: a run that is slow on a busy machine is not gone.
        OUTBOX_SWEEP_AFTER_MS: '120000',
      },
      { handlers: [failsOnce] },
    );
    const ids = await enqueue(
      outbox.db,
      events(EVENTS, (n) => ({ aggregateId: `a${n}` })),
    );
    await allHandled(outbox.db, 'mail', EVENTS, 200_000);
    expect(effects.sort()).toEqual([...ids].sort());
    await eventually(async () => (await deliveryRows(outbox.db)).length === 0);
    // Said at the end of a look, which may last longer than its last run.
    await eventually(() => JSON.stringify(worker.logs).includes('Started delivery runs that nobody had started'));
    const { workflow } = outbox.client;
    const query = `TaskQueue = '${outbox.config().deliveryTaskQueue}' AND StartTime >= '${begun.toISOString()}'`;
    await eventually(async () => (await workflow.count(query)).count >= EVENTS);
    expect((await workflow.count(query)).count).toBe(EVENTS);
  }, 300_000);
});

async function took(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** The real client, whose calls are under way for so much longer. */
function slowed(client: Client, delayMs: () => number): Client {
  const signalWithStart: typeof client.workflow.signalWithStart = async (...call) => {
    await sleep(delayMs());
    return client.workflow.signalWithStart(...call);
  };
  return Object.assign(Object.create(client) as Client, { workflow: { signalWithStart } });
}
