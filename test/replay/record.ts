import { randomUUID } from 'node:crypto';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { OwnServers } from '../support/ownServers';
import { writeHistory } from './historyFile';

/** Busy, idle, after every kind of signal and update, paused and resumed, with events that are deferred and that die; cancelled at the end. */
export async function recordBusyRelay(file: string): Promise<void> {
  const outbox = await TestOutbox.create({ OUTBOX_BATCH_SIZE: '500', OUTBOX_LONG_POLL_MS: '1000' });
  const { stream, subjectPrefix } = outbox.config().nats;
  await outbox.manager.streams.add({ name: stream, subjects: [`${subjectPrefix}.thing.>`], allow_atomic: true });
  await outbox.startWorker();
  const relay = outbox.relay();
  await enqueue(outbox.db, events(3_000));
  await outbox.allDone();
  const idleSince = (await relay.describe()).historyLength;
  await eventually(async () => (await relay.describe()).historyLength > idleSince + 18);
  await outbox.db.query(
    `INSERT INTO :schema.event_queue (event_type, aggregate_type, aggregate_id, payload) VALUES ('not a token', 'thing', 'a', '{}')`,
  );
  const [stray] = await enqueue(outbox.db, [event({ aggregateType: 'stray' }), event()]);
  await eventually(async () => {
    const { totals } = await outbox.status();
    return totals.deferred >= 2 && totals.dead >= 1;
  });
  await relay.signal('reemit', { ids: [stray, randomUUID()] });
  await relay.signal('reemit', 42);
  await relay.signal('reemitAll');
  await relay.signal('no such signal');
  await relay.signal('pause');
  await eventually(async () => (await outbox.status()).state === 'paused');
  await relay.signal('wake');
  await relay.signal('resume');
  await relay.executeUpdate('reemit', { args: [{ ids: [stray] }] });
  await relay.executeUpdate('reemitAll', { args: [{ eventType: 'None' }] });
  await relay.executeUpdate('pause');
  await enqueue(outbox.db, events(100));
  await relay.executeUpdate('resume');
  await eventually(async () => ((await outbox.rowsByStatus()).done ?? 0) >= 3_101);
  await relay.cancel();
  await eventually(async () => (await relay.describe()).status.name !== 'RUNNING');
  await save(outbox, file);
}

/** The broker goes away with events under way, stays away for several looks, and comes back. */
export async function recordAwayBroker(file: string): Promise<void> {
  const own = new OwnServers();
  const nats = await own.nats();
  const outbox = await TestOutbox.create({
    NATS_URL: nats.url,
    OUTBOX_BACKOFF_FIRST_MS: '200',
    OUTBOX_LONG_POLL_MS: '1000',
  });
  await outbox.startWorker();
  await enqueue(outbox.db, events(100));
  await outbox.allDone();
  await nats.kill('SIGSTOP');
  await enqueue(outbox.db, events(100));
  await eventually(async () => (await outbox.status()).state === 'waiting for the broker');
  await nats.kill('SIGCONT');
  await outbox.allDone();
  await nats.stop();
  await eventually(async () => (await outbox.status()).state === 'waiting for the broker');
  const { historyLength } = await outbox.relay().describe();
  await eventually(async () => (await outbox.relay().describe()).historyLength > historyLength + 20);
  await nats.start();
  await enqueue(outbox.db, events(10));
  await outbox.allDone();
  await save(outbox, file);
  await own.close();
}

/** For a worker that is a process of its own. */
const NEUTRAL = `--import=data:text/javascript,${encodeURIComponent(`import os from 'node:os'; os.hostname = () => 'recorder';`)}`;

/** The worker that claims is killed in the middle of a drain, another publishes what it held; then a continue-as-new. */
export async function recordLostWorker(file: string): Promise<void> {
  // Where the kill meets the relay is chance: until a step on the dead worker's own queue has timed out.
  for (;;) {
    const outbox = await TestOutbox.create({ OUTBOX_BATCH_SIZE: '300', OUTBOX_ROLL_OVER_EVENTS: '600' });
    await enqueue(outbox.db, events(3_000));
    const worker = await outbox.spawnWorker({ NODE_OPTIONS: NEUTRAL });
    await eventually(async () => ((await outbox.rowsByStatus()).done ?? 0) >= 600);
    await worker.kill('SIGKILL');
    await outbox.startWorker();
    await outbox.allDone();
    const { runId } = (await outbox.relay().describe()) as { runId: string };
    await eventually(async () => {
      await outbox.relay().signal('wake');
      return (await outbox.relay().describe()).runId !== runId;
    });
    const history = await outbox.client.workflow.getHandle(outbox.relay().workflowId, runId).fetchHistory();
    if (history.events?.some((event) => event.activityTaskTimedOutEventAttributes)) return save(outbox, file, runId);
    await outbox.close();
  }
}

async function save(outbox: TestOutbox, file: string, runId?: string): Promise<void> {
  const { workflowId } = outbox.relay();
  const history = await outbox.client.workflow.getHandle(workflowId, runId).fetchHistory();
  writeHistory(file, history);
  console.log(`${file}: ${history.events?.length} events of ${workflowId}`);
  await outbox.close();
}
