import { randomUUID } from 'node:crypto';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { defineHandler } from '../../src/handlers/defineHandler';
import { attemptOf, standAlone } from '../support/attempts';
import { deliveryOf, insertDelivery, insertLedger } from '../support/deliveries';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { sdkLogs, TestOutbox } from '../support/outbox';

const DEBUG = 20;
const INFO = 30;
const WARN = 40;

const broken = defineHandler({
  name: 'broken',
  events: ['ThingHappened'],
  run: () => {
    throw new Error('no such host');
  },
});

describe('the log of a worker', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db', EVENT_QUEUE_MAX_ATTEMPTS: '2' });
  });
  afterEach(() => outbox.close());

  const runOf = (id: string) => outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, id));
  const stateOf = async (id: string) => (await deliveryOf(outbox.db, id, 'broken'))?.state;
  const ofSdk = (id: string) =>
    sdkLogs.filter(({ workflowId }) => workflowId === deliveryWorkflowId(outbox.db.schema, id));

  it('warns once of each signal that a delivery run ignores, with the event, and leaves failed attempts to its own lines', async () => {
    const { logs } = await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '3600000' }, { handlers: [broken] });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    await eventually(() => runOf(id).query('status'));
    await runOf(id).signal('skip', { handler: 'broken' });
    await runOf(id).signal('no such signal');
    await runOf(id).signal('retryNow');
    await eventually(async () => (await stateOf(id)) === 'dead');
    await eventually(() => ofSdk(id).some(({ msg }) => msg === 'Workflow failed'));

    expect(ofSdk(id).filter(({ level }) => level === WARN)).toMatchObject([
      { eventId: id, eventType: 'ThingHappened', msg: expect.stringMatching(/^A skip signal was ignored/) as string },
      { eventId: id, eventType: 'ThingHappened', signal: 'no such signal' },
    ]);
    const failures = ofSdk(id).filter(({ msg }) => msg === 'Activity failed' || msg === 'Workflow failed');
    expect(failures.map(({ level }) => level)).toEqual([DEBUG, DEBUG]);
    expect(logs.filter(({ level }) => Number(level) > WARN)).toMatchObject([{ eventId: id, handler: 'broken', attempt: 2 }]);
  }); // prettier-ignore

  it('has a line for each re-emit, by signal or update, with its counts, its filter and the events', async () => {
    const { logs } = await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '50' }, { handlers: [broken] });
    const [id = ''] = await enqueue(outbox.db, [event()]);
    const lines = () => logs.filter(({ msg }) => msg === 'Re-emitted dead letters');
    const died = (times: number) =>
      eventually(() => logs.filter(({ msg }) => msg === 'event exhausted max deliveries').length === times);
    await died(1);
    await outbox.relay().signal('reemit', { ids: [id, randomUUID()] });
    await died(2);
    await outbox.relay().signal('reemitAll', { handler: 'broken' });
    await died(3);
    await outbox.relay().executeUpdate('reemit', { args: [{ ids: [id], handler: 'broken' }] });
    await died(4);
    await outbox.relay().executeUpdate('reemitAll', { args: [{ eventType: 'Other' }] });
    expect(lines()).toMatchObject([
      { level: INFO, by: 'signal', revived: 1, refused: 1, reason: expect.stringMatching(/^unknown/) as string, eventIds: [id] },
      { level: INFO, by: 'signal', revived: 1, handler: 'broken' },
      { level: INFO, by: 'update', revived: 1, refused: 0, handler: 'broken', eventIds: [id] },
      { level: INFO, by: 'update', revived: 0, eventType: 'Other' },
    ]);
  }); // prettier-ignore

  it('has a line for a handler that is skipped, and says of a skip that came too late that it did', async () => {
    const { logs } = await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '3600000' }, { handlers: [broken] });
    const skip = async (id: string) => {
      await eventually(() => runOf(id).query('status'));
      await runOf(id).signal('skip', { handler: 'broken', reason: 'the customer is gone' });
      return eventually(() => logs.find(({ eventId, msg }) => eventId === id && String(msg).includes('skip')));
    };
    const [id = '', late = ''] = await enqueue(outbox.db, [event(), event({ aggregateId: 'b' })]);
    const about = { level: INFO, eventType: 'ThingHappened', handler: 'broken', attempt: 1 };
    expect(await skip(id)).toMatchObject({ ...about, reason: 'the customer is gone', msg: 'A handler was skipped on purpose' });
    await eventually(() => runOf(late).query('status'));
    await insertLedger(outbox.db, late, 'broken', 'done');
    expect(await skip(late)).toMatchObject({ ...about, msg: 'A skip came too late: already handled' });
  }); // prettier-ignore

  it('has a line for an attempt that was lost with its worker, as for one that failed', async () => {
    const { deps, logs, close } = standAlone(outbox, [broken]);
    outbox.onClose(() => Promise.resolve(close()));
    const id = await insertDelivery(outbox.db, { handler: 'broken', state: 'waiting', attempts: 0 });
    await insertLedger(outbox.db, id, 'broken', `clock_timestamp() - interval '1 second'`);
    expect(await attemptOf(deps, 'broken', id)).toMatchObject({ kind: 'deferred', attempts: 1 });
    expect(logs).toMatchObject([
      {
        ...{ level: INFO, eventId: id, eventType: 'ThingHappened', handler: 'broken', attempt: 1 },
        ...{ reason: 'the worker was lost while it ran this handler', msg: 'A handler failed and is tried again' },
      },
    ]);
  });
});
