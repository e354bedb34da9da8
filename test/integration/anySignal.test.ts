import type { WorkflowHandle } from '@temporalio/client';
import fc from 'fast-check';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { defineHandler } from '../../src/handlers/defineHandler';
import { insertRow } from '../support/aged';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';

/** The same inputs in each run: another number is another set of them. */
const SEED = 7;
const EACH = 40;

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\0', ' \0 ', '\ud800', 'x\udc00', '', 'ü'.repeat(3_000), '\u001b[2J'),
);
const number = fc.oneof(fc.integer(), fc.constantFrom(-1, 0.5, 1e12, 8.7e15, 1e300, -1e300, 2 ** 53));
const anything = fc.oneof(fc.jsonValue(), text, number);
const handler = fc.oneof(fc.constantFrom('hopeless', 'other', 'skip', 'constructor', '__proto__'), text, anything);
const uuid = fc.constant('0190a5b0-0000-7000-8000-000000000000');
const fields = (model: Record<string, fc.Arbitrary<unknown>>) => fc.record(model, { requiredKeys: [] });
const TIMES = [
  '-271821-04-20T00:00:00.000Z',
  '+275760-09-13T00:00:00.000Z',
  '0000-01-01T00:00:00Z',
  '1',
  'now',
  'infinity',
];
const TIMINGS = ['longPollMs', 'sliceMs', 'publishTimeoutMs', 'heartbeatTimeoutMs', 'activityRetryMs', 'ownQueueTimeoutMs', 'backoffFirstMs', 'backoffMaxMs', 'rollOverEvents']; // prettier-ignore
const timings = fc.oneof(
  fc.constant(Object.fromEntries(TIMINGS.map((name) => [name, 1_000]))),
  fields(Object.fromEntries(TIMINGS.map((name) => [name, number]))),
);
const queue = fc.oneof(text, fc.constantFrom('a/\0', 'a/\ud800', `a/${'ü'.repeat(498)}`, 'a/\n', 'x//y'));

/** What anybody may send, by signal: of any form, and near to the right one. */
const RELAY = {
  reemit: fc.oneof(anything, fields({ ids: fc.array(fc.oneof(uuid, anything)), handler })),
  reemitAll: fc.oneof(anything, fields({ eventType: text, handler, companyId: fc.oneof(uuid, text), since: fc.oneof(fc.constantFrom(...TIMES), text) })), // prettier-ignore
  wake: anything,
  [' ']: anything,
};
const CONSUMER = { join: fc.oneof(anything, fields({ queue, timings })), wake: anything, resume: anything };
const delivery = fields({ handler, attempts: number, dueInMs: number, reason: text, dead: fc.boolean(), skip: text });
const DELIVERY = {
  deliver: fc.oneof(anything, fc.array(fc.oneof(delivery, anything))),
  retryNow: fc.oneof(anything, fields({ handler })),
  skip: fc.oneof(anything, fields({ handler, reason: text })),
};

describe('whatever a signal or an update holds', () => {
  let outbox: TestOutbox;
  let failed: string;
  let delivery: WorkflowHandle;
  beforeAll(async () => {
    // Hours between two attempts, and more attempts than are ordered, so that the run is open for all of it.
    outbox = await TestOutbox.create({
      OUTBOX_BACKOFF_FIRST_MS: '3600000',
      OUTBOX_BACKOFF_MAX_MS: '3600000',
      EVENT_QUEUE_MAX_ATTEMPTS: '1000',
    });
    const hopeless = defineHandler({
      name: 'hopeless',
      events: ['ThingHappened'],
      run: () => {
        throw new Error('no');
      },
    });
    await outbox.startWorker({}, { handlers: [hopeless] });
    [failed = ''] = await enqueue(outbox.db, [event()]);
    delivery = outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, failed));
    await eventually(() => delivery.query('status'));
  });
  afterAll(() => outbox.close());

  it('no workflow task of the relay fails, and what is ordered afterwards is done', async () => {
    await signalAll(outbox.relay(), RELAY);
    for (const update of ['reemit', 'reemitAll'] as const)
      for (const value of fc.sample(RELAY[update], { numRuns: EACH, seed: SEED }))
        await outbox
          .relay()
          .executeUpdate(update, { args: [value] })
          .catch(() => undefined);
    const id = await insertRow(outbox.db, 'dead_lettered', { age: '1 hour' });
    await outbox.relay().signal('reemit', { ids: [id] });
    await eventually(async () => (await statusOf(id)) === 'done', 60_000);
    await isWell(outbox.relay());
  });

  it('no workflow task of the consumer fails, and it goes on receiving', async () => {
    await signalAll(outbox.consumer(), CONSUMER);
    const { totals } = await outbox.consumer().query<{ totals: { receives: number } }>('status');
    await eventually(async () => {
      const now = await outbox.consumer().query<{ totals: { receives: number } }>('status');
      return now.totals.receives > totals.receives;
    }, 60_000);
    await isWell(outbox.consumer());
  });

  it('no workflow task of a delivery run fails, and it is skipped by the next signal that says so', async () => {
    await signalAll(delivery, DELIVERY);
    await delivery.signal('skip', { handler: 'hopeless', reason: 'enough' }).catch(() => undefined);
    await eventually(async () => {
      const { rows } = await outbox.db.query<{ state: string }>(
        `SELECT state FROM :schema.deliveries WHERE handler = 'hopeless' AND event_id = $1`,
        [failed],
      );
      return rows[0]?.state === 'skipped';
    }, 60_000);
    await isWell(delivery);
  });

  async function signalAll(run: WorkflowHandle, signals: Record<string, fc.Arbitrary<unknown>>): Promise<void> {
    for (const [name, arbitrary] of Object.entries(signals))
      for (const value of fc.sample(arbitrary, { numRuns: EACH, seed: SEED }))
        // A delivery run may have ended: skipped by one of them. Refused by the client: not our text to send.
        await run.signal(name, value).catch(() => undefined);
  }

  /** Answers, and has failed no task: a failed one is tried again and again, and nothing else happens meanwhile. */
  async function isWell(run: WorkflowHandle): Promise<void> {
    await run.query('status');
    const { events } = await run.fetchHistory();
    const failed = (events ?? []).map(({ workflowTaskFailedEventAttributes: failure }) => failure?.failure?.message);
    expect(failed.filter(Boolean)).toEqual([]);
  }

  async function statusOf(eventId: string): Promise<string | undefined> {
    const { rows } = await outbox.db.query<{ status: string }>(
      'SELECT status FROM :schema.event_queue WHERE event_id = $1',
      [eventId],
    );
    return rows[0]?.status;
  }
});
