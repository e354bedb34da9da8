import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import type { DeliveryStatus } from '../../src/workflows/deliveryMessages';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { Proxy } from '../support/proxy';
import { ended, failing, PATIENT, type Recorder } from './recording';

const DB = { EVENT_BUS_BACKEND: 'db' };

/** The run of one event, once its handlers wait there. */
async function runOf(outbox: TestOutbox, eventId: string, handlers: number) {
  const run = outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, eventId));
  await eventually(async () => (await run.query<DeliveryStatus>('status')).handlers.length === handlers);
  return run;
}

/** PostgreSQL is away for several attempts, and comes back. */
export const outage: Recorder = async (recording) => {
  const outbox = await TestOutbox.create(DB);
  const { url } = outbox.database;
  const proxy = await Proxy.to(url);
  outbox.onClose(() => proxy.close());
  await outbox.startWorker({ ...PATIENT, DATABASE_URL: proxy.url(url) }, { handlers: [failing('mended', 1)] });
  const [id = ''] = await enqueue(outbox.db, [event()]);
  const run = await runOf(outbox, id, 1);
  proxy.takeAway();
  await run.signal('retryNow');
  await eventually(async () => {
    const { events } = await run.fetchHistory();
    return (events ?? []).filter((it) => it.activityTaskFailedEventAttributes).length >= 2;
  }, 120_000);
  await recording.save(outbox, 'deliver-outage', run);
  proxy.giveBack();
  await ended(outbox, run);
  await recording.save(outbox, 'deliver-outage-over', run);
  await outbox.close();
};

/** The only attempt there is fails on the fast path: the run is told of a dead letter, and ends failed at once. */
export const deadAtOnce: Recorder = async (recording) => {
  const outbox = await TestOutbox.create({ ...DB, EVENT_QUEUE_MAX_ATTEMPTS: '1' });
  await outbox.startWorker({}, { handlers: [failing('hopeless', 99)] });
  const [id = ''] = await enqueue(outbox.db, [event()]);
  const run = outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, id));
  await eventually(async () => (await run.describe()).status.name === 'FAILED');
  await recording.save(outbox, 'deliver-dead-at-once', run);
  await outbox.close();
};

/** One handler is dead and is skipped then, while another waits; of a third, dead too, the run is told by a signal. */
export const deadAndSkipped: Recorder = async (recording) => {
  const outbox = await TestOutbox.create({ ...DB, EVENT_QUEUE_MAX_ATTEMPTS: '2' });
  await outbox.startWorker(PATIENT, { handlers: [failing('hopeless', 99), failing('patient', 99)] });
  const [id = ''] = await enqueue(outbox.db, [event()]);
  const run = await runOf(outbox, id, 2);
  const states = async () => {
    const { handlers } = await run.query<DeliveryStatus>('status');
    return handlers.map(({ handler, state }) => `${handler} ${state}`).sort();
  };
  const come = (...wanted: string[]) => eventually(async () => (await states()).join() === wanted.join());
  await run.signal('retryNow', { handler: 'hopeless' });
  await come('hopeless dead', 'patient waiting');
  await run.signal('skip', { handler: 'hopeless', reason: 'on purpose' });
  await come('hopeless skipped', 'patient waiting');
  await run.signal('deliver', [{ handler: 'gone', attempts: 2, dueInMs: 0, reason: 'no', dead: true }]);
  await come('gone dead', 'hopeless skipped', 'patient waiting');
  await run.signal('skip', { handler: 'patient', reason: 'on purpose' });
  await ended(outbox, run);
  await recording.save(outbox, 'deliver-dead-skipped', run);
  await outbox.close();
};
