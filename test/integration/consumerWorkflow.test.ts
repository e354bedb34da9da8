import { jetstream } from '@nats-io/jetstream';
import { temporal } from '@temporalio/proto';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { consumerTimingsOf } from '../../src/consumer/timings';
import type { HandlingOutcome } from '../../src/handlers/incoming';
import { joinConsumer } from '../../src/temporal/consumerStart';
import { wake } from '../../src/temporal/identity';
import type { ConsumerStatus } from '../../src/workflows/consumerMessages';
import type { PauseResult } from '../../src/workflows/messages';
import { ConsumerWorker } from '../support/consumerWorker';
import { eventually } from '../support/eventually';
import { HANDLED, handledAfter } from '../support/fakeIntake';
import { TestOutbox, type Settings } from '../support/outbox';
import { Proxy } from '../support/proxy';

const STARTED = temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED;

describe('the consumer', () => {
  let outbox: TestOutbox;

  beforeEach(async () => {
    // A message that is not acknowledged for this long is given to another worker, which is right and not meant here.
    outbox = await TestOutbox.create({ OUTBOX_LONG_POLL_MS: '2000', OUTBOX_ACK_WAIT_MS: '120000' });
    outbox.onClose(() =>
      handle()
        .terminate('the test is over')
        .catch(() => undefined),
    );
  });
  afterEach(() => outbox.close());

  it('lets each worker receive, and shares the messages among them', async () => {
    const workers = [await ConsumerWorker.start(outbox), await ConsumerWorker.start(outbox)];
    for (const { receiver } of workers) receiver.intake.settleWith = handledAfter(50);
    await eventually(async () => (await status()).workers.filter(({ state }) => state === 'receiving').length === 2);
    await eventually(async () => (await consumer()).num_waiting === 2);
    await publish(100);
    await acknowledged(100);
    const got = workers.map(({ receiver }) => receiver.intake.got.length);
    expect(got[0]! + got[1]!).toBe(100);
    expect(Math.min(...got)).toBeGreaterThan(10);
    await eventually(async () => (await status()).totals.handled === 100);
    expect(await status()).toMatchObject({ state: 'receiving', unsettled: 0, lastError: null });
  });

  it('joining twice changes nothing', async () => {
    // Open for as long as the test lasts, so that there is one at any moment.
    use({ OUTBOX_LONG_POLL_MS: '600000' });
    const worker = await ConsumerWorker.start(outbox);
    await joinConsumer(outbox.client, outbox.config(), outbox.db, worker.queue);
    expect((await status()).workers).toHaveLength(1);
    const open = async () => (await handle().describe()).raw.pendingActivities ?? [];
    await eventually(async () => (await open()).length > 0);
    await sleep(500);
    expect(await open()).toHaveLength(1);
  });

  it('forgets a worker that is gone, and one that stops, and takes them back when they join', async () => {
    const [gone, stopped] = [await ConsumerWorker.start(outbox), await ConsumerWorker.start(outbox)];
    await eventually(async () => (await status()).workers.length === 2);
    await gone.vanish();
    await eventually(async () => (await status()).totals.lostWorkers === 1);
    expect((await status()).workers.map(({ queue }) => queue)).toEqual([stopped.queue]);
    const third = await ConsumerWorker.start(outbox);
    await stopped.stop();
    await eventually(async () => {
      const queues = (await status()).workers.map(({ queue }) => queue);
      return queues.length >= 1 && !queues.includes(stopped.queue) && queues.includes(third.queue);
    });
    expect((await status()).totals.lostWorkers).toBeGreaterThanOrEqual(1);
    await publish(3);
    await acknowledged(3);
  });

  // Found by `npm run torture -- --seed 201 --minutes 30 --backend nats --rate 6`: after an outage of Temporal each was.
  it('a worker that Temporal has not heard of for longer than a heartbeat is asked again, and not forgotten', async () => {
    use({ OUTBOX_HEARTBEAT_TIMEOUT_MS: '2000', OUTBOX_OWN_QUEUE_TIMEOUT_MS: '1000', OUTBOX_LONG_POLL_MS: '60000' });
    await ConsumerWorker.start(outbox);
    const direct = outbox.settings.TEMPORAL_ADDRESS!;
    const proxy = await Proxy.to(direct);
    outbox.onClose(() => proxy.close());
    const cut = await ConsumerWorker.start(outbox, { TEMPORAL_ADDRESS: proxy.address });
    await eventually(async () => (await status()).workers.filter(({ state }) => state === 'receiving').length === 2);
    proxy.takeAway();
    await eventually(async () => (await timedOut()).includes(cut.queue));
    await eventually(async () => (await pendingOn(cut.queue)).length > 0);
    proxy.giveBack();
    await eventually(async () => (await pendingOn(cut.queue)).some(({ state }) => state === STARTED));
    expect(await status()).toMatchObject({ workers: [{}, {}], totals: { lostWorkers: 0 } });
  });

  it('a worker that was taken for gone joins again by itself', async () => {
    use({ OUTBOX_HEARTBEAT_TIMEOUT_MS: '2000', OUTBOX_OWN_QUEUE_TIMEOUT_MS: '1000' });
    const worker = await ConsumerWorker.start(outbox);
    await eventually(async () => (await status()).workers.length === 1);
    const { runId } = await handle().describe();
    await handle().terminate('so that nobody knows of the worker any more');
    await eventually(async () => (await handle().describe()).runId !== runId);
    await eventually(async () => (await status()).workers[0]?.state === 'receiving');
    await publish(2);
    await acknowledged(2);
    expect(worker.receiver.intake.got).toHaveLength(2);
  });

  it('pause resolves when nothing is received any more; resume goes on', async () => {
    await ConsumerWorker.start(outbox);
    await publish(1);
    await acknowledged(1);
    expect(await handle().executeUpdate<PauseResult, []>('pause')).toEqual({ changed: true });
    expect(await handle().executeUpdate<PauseResult, []>('pause')).toEqual({ changed: false });
    expect((await status()).state).toBe('paused');
    expect((await consumer()).num_waiting).toBe(0);
    await publish(2);
    await sleep(1_000);
    expect((await consumer()).delivered.stream_seq).toBe(1);
    expect(await handle().executeUpdate<PauseResult, []>('resume')).toEqual({ changed: true });
    await acknowledged(3);
    await handle().signal('pause');
    await eventually(async () => (await status()).state === 'paused');
    await handle().signal('resume');
    await eventually(async () => (await status()).state === 'receiving');
  });

  it('continues as new with workers, totals and pause', async () => {
    use({ OUTBOX_ROLL_OVER_EVENTS: '60', OUTBOX_LONG_POLL_MS: '300' });
    const workers = [await ConsumerWorker.start(outbox), await ConsumerWorker.start(outbox)];
    for (let n = 1; n <= 5; n++) {
      await publish(4);
      await acknowledged(4 * n);
    }
    await eventually(async () => (await status()).totals.continuedAsNew >= 2);
    await handle().executeUpdate('pause');
    const before = await status();
    expect(before.totals.handled).toBe(20);
    expect(before.workers).toHaveLength(2);
    // Signals alone fill the history of a consumer that is paused.
    for (let n = 0; n < 40; n++) await handle().signal('wake');
    await eventually(async () => (await status()).totals.continuedAsNew > before.totals.continuedAsNew);
    expect(await status()).toMatchObject({ state: 'paused', totals: { handled: 20 } });
    await handle().signal('resume');
    await publish(4);
    await acknowledged(24);
    expect(workers.reduce((sum, { receiver }) => sum + receiver.intake.got.length, 0)).toBe(24);
    expect(await failedTasks()).toEqual([]);
  });

  it('signals of any kind are ignored, and fail no workflow task (C26)', async () => {
    const worker = await ConsumerWorker.start(outbox);
    const timings = consumerTimingsOf(outbox.config());
    const { taskQueue } = outbox.config();
    await handle().signal('join');
    for (const input of [
      null,
      42,
      [],
      {},
      { queue: 7, timings },
      { queue: 'somebody else', timings },
      { queue: `${taskQueue}/x` },
      { queue: `${taskQueue}/x`, timings: 'soon' },
      { queue: `${taskQueue}/x`, timings: { ...timings, longPollMs: 0 } },
      { queue: `${taskQueue}/x`, timings: { ...timings, heartbeatTimeoutMs: '5' } },
    ])
      await handle().signal('join', input);
    for (const name of ['pause', 'resume', 'wake']) await handle().signal(name, { unexpected: true });
    await handle().signal('no such signal', { a: 1 });
    await publish(1);
    await acknowledged(1);
    expect((await status()).workers.map(({ queue }) => queue)).toEqual([worker.queue]);
    expect(await failedTasks()).toEqual([]);
  });

  it('waits for a worker whose broker is away, and a wake ends the wait; its acknowledgements go through another', async () => {
    use({ OUTBOX_BACKOFF_FIRST_MS: '600000', OUTBOX_BACKOFF_MAX_MS: '600000' });
    const proxy = await Proxy.to(outbox.config().nats.url);
    outbox.onClose(() => proxy.close());
    const cut = await ConsumerWorker.start(outbox, { NATS_URL: proxy.url(outbox.config().nats.url) });
    let settle = (): void => undefined;
    const outcome = new Promise<HandlingOutcome>((resolve) => (settle = () => resolve(HANDLED)));
    cut.receiver.intake.settleWith = () => outcome;
    await publish(2);
    await eventually(() => cut.receiver.intake.got.length === 2);
    proxy.takeAway();
    await eventually(async () => (await status()).state === 'waiting for the broker');
    settle();
    await eventually(() => cut.receiver.intake.inHand === 0);
    await sleep(200);
    const other = await ConsumerWorker.start(outbox);
    await eventually(async () => (await status()).state === 'receiving');
    // Still cut off: it is asked again, and hands on what it could not acknowledge.
    await wake(outbox.client, outbox.config().consumerWorkflowId);
    await acknowledged(2);
    await eventually(async () => (await status()).totals.acknowledgedElsewhere === 2);
    expect(other.receiver.intake.got).toHaveLength(0);

    proxy.giveBack();
    await eventually(() => cut.receiver.broker.up);
    expect((await status()).workers.map(({ state }) => state).sort()).toEqual(['receiving', 'waiting']);
    await wake(outbox.client, outbox.config().consumerWorkflowId);
    await eventually(async () => (await status()).workers.every(({ state }) => state === 'receiving'));
  });

  it('a request to cancel it ends it when nothing is open', async () => {
    await ConsumerWorker.start(outbox);
    await eventually(async () => (await status()).state === 'receiving');
    await handle().cancel();
    await eventually(async () => (await handle().describe()).status.name === 'CANCELLED');
    expect((await consumer()).num_waiting).toBe(0);
  });

  it('a worker that differs from the running consumer is refused, with the setting that it differs in', async () => {
    await ConsumerWorker.start(outbox);
    const other = outbox.config({ NATS_MODE: 'core' });
    const joining = joinConsumer(outbox.client, other, outbox.db, `${other.taskQueue}/x`);
    await expect(joining).rejects.toThrow(/differs from the running consumer .* in NATS_MODE: it has core/);
    expect((await status()).workers).toHaveLength(1);
  });

  it('its details name state, workers and totals', async () => {
    const worker = await ConsumerWorker.start(outbox);
    await eventually(async () => {
      const shown = await details();
      return shown.includes('### receiving') && shown.includes(worker.queue);
    });
  });

  const handle = () => outbox.client.workflow.getHandle(outbox.config().consumerWorkflowId);
  const status = () => handle().query<ConsumerStatus>('status');
  const consumer = () => outbox.manager.consumers.info(outbox.config().nats.stream, outbox.config().nats.durable);
  const acknowledged = (count: number) => eventually(async () => (await consumer()).ack_floor.stream_seq === count);

  async function history() {
    return (await handle().fetchHistory()).events ?? [];
  }

  /** Queues of the receives that have timed out. */
  async function timedOut(): Promise<unknown[]> {
    const all = await history();
    const queueOf = (id: unknown) =>
      all.find(({ eventId }) => String(eventId) === String(id))?.activityTaskScheduledEventAttributes?.taskQueue?.name;
    return all.flatMap(({ activityTaskTimedOutEventAttributes: given }) =>
      given ? [queueOf(given.scheduledEventId)] : [],
    );
  }

  async function pendingOn(queue: string) {
    const all = await history();
    const ids = all
      .filter(({ activityTaskScheduledEventAttributes: given }) => given?.taskQueue?.name === queue)
      .map(({ activityTaskScheduledEventAttributes: given }) => given?.activityId);
    const { pendingActivities } = (await handle().describe()).raw;
    return (pendingActivities ?? []).filter(({ activityId }) => ids.includes(activityId));
  }

  function use(settings: Settings): void {
    Object.assign(outbox.settings, settings);
  }

  async function details(): Promise<string> {
    return handle()
      .query<string>('__temporal_workflow_metadata')
      .then((metadata) => JSON.stringify(metadata));
  }

  async function publish(count: number): Promise<void> {
    const { subjectPrefix } = outbox.config().nats;
    for (let n = 0; n < count; n++)
      await jetstream(outbox.nats).publish(`${subjectPrefix}.thing.ThingHappened`, '{}', { msgID: randomUUID() });
  }

  async function failedTasks(): Promise<unknown[]> {
    return (await history()).filter(({ workflowTaskFailedEventAttributes }) => workflowTaskFailedEventAttributes);
  }
});
