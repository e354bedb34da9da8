import type { WorkflowHandle } from '@temporalio/client';
import fc from 'fast-check';
import { randomInt } from 'node:crypto';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { defineHandler } from '../../src/handlers/defineHandler';
import type { ConsumerStatus } from '../../src/workflows/consumerMessages';
import type { DeliveryStatus } from '../../src/workflows/deliveryMessages';
import { insertRow } from '../support/aged';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';

/** Others in each run; the report names it. In this variable it has the same sent again, in the same order. */
const SEED = Number(process.env.OUTBOX_TEST_SEED ?? randomInt(2 ** 31));
/** So many inputs for each name; an update of the relay may wait for the end of a claim. */
const SIGNALS = 40;
const UPDATES = 15;
const KEEPER = 'keeper';

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

type Inputs = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/** What anybody may send, of any form, and near to the right one. */
const RELAY: Inputs = {
  reemit: fc.oneof(anything, fields({ ids: fc.array(fc.oneof(uuid, anything)), handler })),
  reemitAll: fc.oneof(anything, fields({ eventType: text, handler, companyId: fc.oneof(uuid, text), since: fc.oneof(fc.constantFrom(...TIMES), text) })), // prettier-ignore
  pause: anything,
  resume: anything,
  wake: anything,
  [' ']: anything,
};
const RELAY_UPDATES: Inputs = { reemit: RELAY.reemit!, reemitAll: RELAY.reemitAll!, pause: anything, resume: anything, [' ']: anything }; // prettier-ignore
const CONSUMER: Inputs = {
  join: fc.oneof(anything, fields({ queue, timings })),
  pause: anything,
  resume: anything,
  wake: anything,
};
const CONSUMER_UPDATES: Inputs = { pause: anything, resume: anything };
const delivery = fields({ handler, attempts: number, dueInMs: number, reason: text, dead: fc.boolean(), skip: text });
const DELIVERY: Inputs = {
  deliver: fc.oneof(anything, fc.array(fc.oneof(delivery, anything))),
  retryNow: fc.oneof(anything, fields({ handler })),
  skip: fc.oneof(anything, fields({ handler, reason: text })),
};

/** So many of each name on average, those of all names in any order: a pause comes between two others. */
function sample(inputs: Inputs, each: number): [name: string, value: unknown][] {
  const named = Object.entries(inputs).map(([name, values]) => values.map((value): [string, unknown] => [name, value]));
  return fc.sample(fc.oneof(...named), { numRuns: named.length * each, seed: SEED });
}

describe(`whatever a signal or an update holds (OUTBOX_TEST_SEED=${SEED})`, () => {
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
    const run = () => {
      throw new Error('no');
    };
    // No input names the second: whatever becomes of the first, the run goes on.
    const handlers = ['hopeless', KEEPER].map((name) => defineHandler({ name, events: ['ThingHappened'], run }));
    await outbox.startWorker({}, { handlers });
    [failed = ''] = await enqueue(outbox.db, [event()]);
    delivery = outbox.client.workflow.getHandle(deliveryWorkflowId(outbox.db.schema, failed));
    await eventually(async () => (await delivery.query<DeliveryStatus>('status')).handlers.length === 2);
  });
  afterAll(() => outbox.close());

  it('no workflow task of the relay fails, and what is ordered afterwards is done', async () => {
    const relay = outbox.relay();
    await signalAll(relay, RELAY);
    await updateAll(relay, RELAY_UPDATES);
    await relay.signal('resume');
    const id = await insertRow(outbox.db, 'dead_lettered', { age: '1 hour' });
    await relay.signal('reemit', { ids: [id] });
    await eventually(async () => (await statusOf(id)) === 'done', 60_000);
    await isWell(relay);
  });

  it('no workflow task of the consumer fails, and it goes on receiving', async () => {
    const consumer = outbox.consumer();
    await signalAll(consumer, CONSUMER);
    await updateAll(consumer, CONSUMER_UPDATES);
    await consumer.signal('resume');
    const { totals } = await consumer.query<ConsumerStatus>('status');
    await eventually(async () => {
      const now = await consumer.query<ConsumerStatus>('status');
      return now.totals.receives > totals.receives;
    }, 60_000);
    await isWell(consumer);
  });

  it('no workflow task of a delivery run fails, and it is skipped by the next signal that says so', async () => {
    await signalAll(delivery, DELIVERY);
    expect((await delivery.describe()).status.name).toBe('RUNNING');
    for (const each of ['hopeless', KEEPER]) await delivery.signal('skip', { handler: each, reason: 'enough' });
    await eventually(async () => {
      const { rows } = await outbox.db.query<{ handler: string; state: string }>(
        `SELECT handler, state FROM :schema.deliveries WHERE event_id = $1 AND handler = ANY ($2)`,
        [failed, ['hopeless', KEEPER]],
      );
      return rows.length === 2 && rows.every(({ state }) => state === 'skipped');
    }, 60_000);
    await isWell(delivery);
  });

  async function signalAll(run: WorkflowHandle, signals: Inputs): Promise<void> {
    const sent = sample(signals, SIGNALS);
    let taken = 0;
    for (const [name, value] of sent)
      await run.signal(name, value).then(
        () => taken++,
        // Refused by the client: not our text to send.
        () => undefined,
      );
    expect(taken).toBeGreaterThan(sent.length / 2);
    await isWell(run);
  }

  async function updateAll(run: WorkflowHandle, updates: Inputs): Promise<void> {
    for (const [name, value] of sample(updates, UPDATES))
      // Refused by a validator, or by the client.
      await run.executeUpdate(name, { args: [value] }).catch(() => undefined);
    await isWell(run);
  }

  /** Answers, and has failed no task: a failed one is tried again and again, and nothing else happens meanwhile. */
  async function isWell(run: WorkflowHandle): Promise<void> {
    // Before the query: a run that stands still gives no answer, and no reason.
    const { events } = await run.fetchHistory();
    const said: string[] = [];
    let last = 'nothing';
    for (const event of events ?? []) {
      const signal = event.workflowExecutionSignaledEventAttributes;
      const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
      const payloads = (signal?.input ?? update?.args)?.payloads ?? [];
      if (signal ?? update) last = `${signal?.signalName ?? update?.name} ${payloads.map(({ data }) => Buffer.from(data ?? []).toString()).join()}`; // prettier-ignore
      const failure = event.workflowTaskFailedEventAttributes?.failure;
      if (failure) said.push(`${failure.message}, after ${last}`);
    }
    expect(said).toEqual([]);
    await run.query('status');
  }

  async function statusOf(eventId: string): Promise<string | undefined> {
    const { rows } = await outbox.db.query<{ status: string }>(
      'SELECT status FROM :schema.event_queue WHERE event_id = $1',
      [eventId],
    );
    return rows[0]?.status;
  }
});
