import { defineHandler } from '../../src/handlers/defineHandler';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import type { DeliveryStatus } from '../../src/workflows/deliveryMessages';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows } from '../support/handled';
import { TestOutbox } from '../support/outbox';
import { OwnServers } from '../support/ownServers';
import { deadAndSkipped, deadAtOnce, outage } from './recordDeliveryEnds';
import { ended, failing, gate, NEUTRAL_PROCESS, PATIENT, type Recorder } from './recording';

const DB = { EVENT_BUS_BACKEND: 'db' };

const runOf = (outbox: TestOutbox, eventId: string) =>
  outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, eventId));

const waiting = (outbox: TestOutbox, count: number) =>
  eventually(async () => (await deliveryRows(outbox.db)).filter(({ state }) => state === 'waiting').length === count);

/** Two handlers that wait and a third that is signalled later; caught waiting, in an attempt, and done. */
const waitingAndRetried: Recorder = async (recording) => {
  const outbox = await TestOutbox.create(DB);
  const [entered, end] = [gate(), gate()];
  let entries = 0;
  const gated = defineHandler({
    name: 'gated',
    events: ['ThingHappened'],
    run: async () => {
      if (++entries === 1) throw new Error('no');
      entered.open();
      await end.opened;
    },
  });
  await outbox.startWorker(PATIENT, { handlers: [failing('mended', 1), gated, failing('later', 0)] });
  const [id = ''] = await enqueue(outbox.db, [event()]);
  const run = runOf(outbox, id);
  const known = async () => (await run.query<DeliveryStatus>('status')).handlers.length;
  await eventually(async () => (await known()) === 2);
  await run.signal('deliver', [{ handler: 'later', attempts: 1, dueInMs: 3_600_000, reason: 'no' }]);
  await eventually(async () => (await known()) === 3);
  await recording.save(outbox, 'deliver-waiting', run);
  await run.signal('retryNow');
  await entered.opened;
  await recording.save(outbox, 'deliver-attempt', run);
  end.open();
  await ended(outbox, run);
  await recording.save(outbox, 'deliver-retried', run);
  await outbox.close();
};

/** Given up by an operator. */
const skipped: Recorder = async (recording) => {
  const outbox = await TestOutbox.create(DB);
  await outbox.startWorker(PATIENT, { handlers: [failing('hopeless', 99)] });
  const [id = ''] = await enqueue(outbox.db, [event()]);
  const run = runOf(outbox, id);
  await waiting(outbox, 1);
  await eventually(() => run.describe());
  await run.signal('skip', { handler: 'hopeless', reason: 'on purpose' });
  await ended(outbox, run);
  await recording.save(outbox, 'deliver-skipped', run);
  await outbox.close();
};

/** Five handlers of one event: mended, mended by hand, skipped, unknown for a while, dead; and then re-emitted. */
const deadAndReemitted: Recorder = async (recording) => {
  const outbox = await TestOutbox.create({ ...DB, EVENT_QUEUE_MAX_ATTEMPTS: '3', OUTBOX_MISSING_HANDLER_MS: '1000' });
  const handlers = [failing('mended', 2), failing('hopeless', 3), failing('skipped', 99)];
  const late = defineHandler({ name: 'late', events: ['ThingHappened'], run: () => undefined });
  const first = await outbox.startWorker({}, { handlers: [late] });
  await first.stop();
  const worker = await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '1500' }, { handlers });
  const [id = ''] = await enqueue(outbox.db, [event()]);
  const run = runOf(outbox, id);
  await eventually(async () => (await deliveryRows(outbox.db)).length === 4);
  await eventually(() => run.signal('retryNow', { handler: 'mended' }).then(() => true));
  await run.signal('skip', { handler: 'skipped', reason: 'on purpose' });
  for (const junk of [null, 42, {}, [], 'x']) await run.signal('skip', junk);
  await run.signal('deliver', 'nothing');
  await run.signal('no such signal');
  await run.query('status');
  await eventually(async () => (await deliveryRows(outbox.db)).some(({ state }) => state === 'dead'));
  await worker.stop();
  await outbox.startWorker({}, { handlers: [...handlers, late] });
  await eventually(async () => (await run.describe()).status.name === 'FAILED', 60_000);
  const { runId } = await run.describe();
  await recording.save(outbox, 'deliver-dead', { workflowId: run.workflowId, runId });
  await outbox.relay().executeUpdate('reemit', { args: [{ ids: [id] }] });
  await allHandled(outbox.db, 'hopeless', 1);
  await eventually(async () => (await run.describe()).status.name === 'COMPLETED');
  await recording.save(outbox, 'deliver-reemitted', run);
  await outbox.close();
};

/** Killed in an attempt, whose end nobody has written; the next worker tries again. */
const lostWorker: Recorder = async (recording) => {
  const outbox = await TestOutbox.create({ ...DB, OUTBOX_BACKOFF_FIRST_MS: '2000' });
  const handlers = require.resolve('../support/dyingHandler.mjs');
  const first = await outbox.spawnWorker(NEUTRAL_PROCESS, { handlers });
  const [id = ''] = await enqueue(outbox.db, [event()]);
  const run = runOf(outbox, id);
  await waiting(outbox, 1);
  await first.kill('SIGTERM');
  const doomed = await outbox.spawnWorker({ ...NEUTRAL_PROCESS, DEADLY: 'on' }, { handlers, awaitReady: false });
  await doomed.exited;
  await outbox.startWorker({}, { handlers: [failing('mended', 0)] });
  await ended(outbox, run);
  await recording.save(outbox, 'deliver-lost-worker', run);
  await outbox.close();
};

/** The run that went on where another had continued as new. */
const continued: Recorder = async (recording) => {
  const own = new OwnServers();
  const temporal = await own.temporal(['--dynamic-config-value', 'limit.historyCount.suggestContinueAsNew=25']);
  const outbox = await TestOutbox.create({ ...DB, TEMPORAL_ADDRESS: temporal.url });
  await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '50' }, { handlers: [failing('mended', 6)] });
  const [id = ''] = await enqueue(outbox.db, [event()]);
  await allHandled(outbox.db, 'mended', 1, 60_000);
  const run = runOf(outbox, id);
  await eventually(async () => (await run.describe()).status.name === 'COMPLETED');
  await recording.save(outbox, 'deliver-continued', run);
  await outbox.close();
  await own.close();
};

export const deliveryRecorders: readonly Recorder[] = [
  waitingAndRetried,
  skipped,
  deadAndReemitted,
  lostWorker,
  continued,
  outage,
  deadAtOnce,
  deadAndSkipped,
];
