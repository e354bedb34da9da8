import { defineHandler } from '../../src/handlers/defineHandler';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled, deliveryRows } from '../support/handled';
import { TestOutbox } from '../support/outbox';
import { OwnServers } from '../support/ownServers';
import { writeHistory } from './historyFile';

const failing = (name: string, times: number) => {
  let entries = 0;
  return defineHandler({
    name,
    events: ['ThingHappened'],
    run: () => {
      if (++entries <= times) throw new Error(`no ${entries}`);
    },
  });
};
const runOf = (outbox: TestOutbox, eventId: string) =>
  outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, eventId));

/** Five handlers of one event: mended, mended by hand, skipped, unknown for a while, dead; and then re-emitted. */
export async function recordDeliveries(dead: string, reemitted: string): Promise<void> {
  const outbox = await TestOutbox.create({
    EVENT_BUS_BACKEND: 'db',
    EVENT_QUEUE_MAX_ATTEMPTS: '3',
    OUTBOX_MISSING_HANDLER_MS: '1000',
  });
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
  await save(outbox, run.workflowId, dead, runId);
  await outbox.relay().executeUpdate('reemit', { args: [{ ids: [id] }] });
  await allHandled(outbox.db, 'hopeless', 1);
  await eventually(async () => (await run.describe()).status.name === 'COMPLETED');
  await save(outbox, run.workflowId, reemitted);
  await outbox.close();
}

/** The run that went on where another had continued as new. */
export async function recordRolledOverDelivery(file: string): Promise<void> {
  const own = new OwnServers();
  const temporal = await own.temporal(['--dynamic-config-value', 'limit.historyCount.suggestContinueAsNew=25']);
  const outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db', TEMPORAL_ADDRESS: temporal.url });
  await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '50' }, { handlers: [failing('mended', 6)] });
  const [id = ''] = await enqueue(outbox.db, [event()]);
  await allHandled(outbox.db, 'mended', 1, 60_000);
  const run = runOf(outbox, id);
  await eventually(async () => (await run.describe()).status.name === 'COMPLETED');
  await save(outbox, run.workflowId, file);
  await outbox.close();
  await own.close();
}

/** Received, paused, resumed, with a worker that leaves and one that comes, the broker away, junk; cancelled at the end. */
export async function recordConsumer(file: string): Promise<void> {
  const own = new OwnServers();
  const nats = await own.nats();
  const outbox = await TestOutbox.create({ NATS_URL: nats.url, OUTBOX_LONG_POLL_MS: '1000' });
  const handlers = [failing('mended', 3)];
  const first = await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '200' }, { handlers });
  await enqueue(
    outbox.db,
    events(200, (n) => ({ aggregateId: `a${n}` })),
  );
  await allHandled(outbox.db, 'mended', 200);
  const consumer = outbox.client.workflow.getHandle(outbox.config().consumerWorkflowId);
  await consumer.signal('pause');
  await consumer.executeUpdate('pause');
  await enqueue(outbox.db, events(20));
  await consumer.executeUpdate('resume');
  await consumer.signal('resume');
  for (const junk of [null, 42, {}, { queue: 7 }]) await consumer.signal('join', junk);
  await consumer.signal('no such signal');
  await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '200' }, { handlers });
  await allHandled(outbox.db, 'mended', 220);
  await first.stop();
  await nats.stop();
  const { historyLength } = await consumer.describe();
  await eventually(async () => (await consumer.describe()).historyLength > historyLength + 20, 60_000);
  await nats.start();
  await consumer.signal('wake');
  await enqueue(outbox.db, events(10));
  await allHandled(outbox.db, 'mended', 230);
  const { runId } = await consumer.describe();
  await consumer.cancel();
  const cancelled = outbox.client.workflow.getHandle(consumer.workflowId, runId);
  await eventually(async () => (await cancelled.describe()).status.name !== 'RUNNING');
  await save(outbox, consumer.workflowId, file, runId);
  await outbox.close();
  await own.close();
}

async function save(outbox: TestOutbox, workflowId: string, file: string, runId?: string): Promise<void> {
  const history = await outbox.client.workflow.getHandle(workflowId, runId).fetchHistory();
  writeHistory(file, history);
  console.log(`${file}: ${history.events?.length} events of ${workflowId}`);
}
