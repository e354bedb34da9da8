import { randomUUID } from 'node:crypto';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { OwnServers } from '../support/ownServers';
import { ended, grown, NEUTRAL_PROCESS, runIdOf, type Recorder } from './recording';
import { fenced, reemitted } from './recordRelayEnds';

const doneRows = async (outbox: TestOutbox) => (await outbox.rowsByStatus()).done ?? 0;

/** Nothing to do; then a backlog, caught with batches under way. */
const idleAndBusy: Recorder = async (recording) => {
  const outbox = await TestOutbox.create({ OUTBOX_BATCH_SIZE: '150', OUTBOX_LONG_POLL_MS: '1000' });
  await outbox.startWorker();
  await grown(outbox, outbox.relay(), 18);
  await recording.save(outbox, 'relay-idle', outbox.relay());
  await enqueue(outbox.db, events(3_000));
  await eventually(async () => (await doneRows(outbox)) >= 1_000);
  await recording.save(outbox, 'relay-busy', outbox.relay());
  await outbox.close();
};

/** After every kind of signal and update, paused and resumed, with events that are deferred and that die; cancelled at the end. */
const orders: Recorder = async (recording) => {
  const outbox = await TestOutbox.create({ OUTBOX_LONG_POLL_MS: '1000' });
  const { stream, subjectPrefix } = outbox.config().nats;
  await outbox.manager.streams.add({ name: stream, subjects: [`${subjectPrefix}.thing.>`], allow_atomic: true });
  await outbox.startWorker();
  const relay = outbox.relay();
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
  await recording.save(outbox, 'relay-paused', relay);
  await relay.executeUpdate('resume');
  await eventually(async () => (await doneRows(outbox)) >= 101);
  await relay.cancel();
  await ended(outbox, relay);
  await recording.save(outbox, 'relay-orders', relay);
  await outbox.close();
};

/** The broker goes away with events under way, stays away for several looks, and comes back. */
const outage: Recorder = async (recording) => {
  const own = new OwnServers();
  const nats = await own.nats();
  const outbox = await TestOutbox.create({
    NATS_URL: nats.url,
    OUTBOX_BACKOFF_FIRST_MS: '200',
    OUTBOX_LONG_POLL_MS: '1000',
  });
  const isAway = () => eventually(async () => (await outbox.status()).state === 'waiting for the broker');
  await outbox.startWorker();
  await enqueue(outbox.db, events(100));
  await outbox.allDone();
  await nats.kill('SIGSTOP');
  await enqueue(outbox.db, events(100));
  await isAway();
  await nats.kill('SIGCONT');
  await outbox.allDone();
  await nats.stop();
  await isAway();
  await grown(outbox, outbox.relay(), 20);
  await recording.save(outbox, 'relay-outage', outbox.relay());
  await nats.start();
  await enqueue(outbox.db, events(10));
  await outbox.allDone();
  await recording.save(outbox, 'relay-outage-over', outbox.relay());
  await outbox.close();
  await own.close();
};

/** The worker that claims is killed in the middle of a drain, another publishes what it held; then a continue-as-new. */
const lostWorker: Recorder = async (recording) => {
  // Where the kill meets the relay is chance: until a step on the dead worker's own queue has timed out.
  for (;;) {
    const outbox = await TestOutbox.create({ OUTBOX_BATCH_SIZE: '300', OUTBOX_ROLL_OVER_EVENTS: '300' });
    await enqueue(outbox.db, events(3_000));
    const worker = await outbox.spawnWorker(NEUTRAL_PROCESS);
    await eventually(async () => (await doneRows(outbox)) >= 600);
    await worker.kill('SIGKILL');
    await outbox.startWorker();
    await outbox.allDone();
    const { workflowId } = outbox.relay();
    const runId = await runIdOf(outbox, workflowId);
    await eventually(async () => {
      await outbox.relay().signal('wake');
      return (await runIdOf(outbox, workflowId)) !== runId;
    });
    const history = await outbox.client.workflow.getHandle(workflowId, runId).fetchHistory();
    const found = history.events?.some((event) => event.activityTaskTimedOutEventAttributes) ?? false;
    if (found) {
      await recording.save(outbox, 'relay-lost-worker', { workflowId, runId });
      await enqueue(outbox.db, events(10));
      await outbox.allDone();
      await recording.save(outbox, 'relay-continued', { workflowId });
    }
    await outbox.close();
    if (found) return;
  }
};

/** Pinned to a build, and moved to the next one at a continue-as-new. */
const moved: Recorder = async (recording) => {
  const outbox = await TestOutbox.create({ OUTBOX_LONG_POLL_MS: '1000' });
  const setCurrent = (buildId: string) =>
    eventually(
      () =>
        outbox.client.workflowService.setWorkerDeploymentCurrentVersion({
          namespace: 'default',
          deploymentName: outbox.config().worker.deploymentName,
          buildId,
          identity: 'recorder',
        }),
      60_000,
    );
  await outbox.startWorker({ OUTBOX_BUILD_ID: 'build-a' });
  await setCurrent('build-a');
  await enqueue(outbox.db, events(20));
  await outbox.allDone();
  const { workflowId } = outbox.relay();
  const runId = await runIdOf(outbox, workflowId);
  await outbox.startWorker({ OUTBOX_BUILD_ID: 'build-b' });
  await setCurrent('build-b');
  await eventually(async () => (await runIdOf(outbox, workflowId)) !== runId, 60_000);
  await enqueue(outbox.db, events(20));
  await outbox.allDone();
  await recording.save(outbox, 'relay-pinned', { workflowId, runId });
  await recording.save(outbox, 'relay-moved', { workflowId });
  await outbox.close();
};

export const relayRecorders: readonly Recorder[] = [idleAndBusy, orders, outage, lostWorker, moved, fenced, reemitted];
