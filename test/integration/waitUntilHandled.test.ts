import { randomUUID } from 'node:crypto';
import { DeadLetterError, NotHandledError, UnknownHandlerError } from '../../src/errors';
import type { Database, Queryable } from '../../src/postgres/database';
import { waitUntilHandled } from '../../src/waitUntilHandled';
import { cloneDatabase, ownerOf, type TestDatabase } from '../support/database';
import { insertDelivery, insertLedger, recordHandlers, setStatus } from '../support/deliveries';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import '../support/printedRoles';

let database: TestDatabase;
let db: Database;
let schema: string;
beforeAll(async () => {
  database = await cloneDatabase();
  ({ db, schema } = database);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await ownerOf(db).query('TRUNCATE :schema.event_queue, :schema.deliveries, :schema.processed_events');
  await recordHandlers(db, { mail: ['ThingHappened', 'Other'], bill: ['ThingHappened'], idle: ['Nothing'] });
});

const SHORT = { timeoutMs: 100 };
const wait = (eventId: string, options: { handler?: string; timeoutMs?: number } = {}) =>
  waitUntilHandled(db.pool, eventId, { schema, ...options });

/** Starts to wait, and resolves once it has looked: what comes now comes while it waits. */
async function waiting(eventId: string, options: Parameters<typeof wait>[1] = {}) {
  let looks = 0;
  const counting: Queryable = {
    query: async (text, values) => {
      const result = await db.pool.query(text, values);
      looks++;
      return result;
    },
  };
  const handled = waitUntilHandled(counting, eventId, { schema, ...options });
  handled.catch(() => undefined);
  await eventually(() => looks > 0);
  return { handled, looks: () => looks };
}

it('resolves when the last of the recorded handlers of its type is done', async () => {
  const [id = ''] = await enqueue(db, [event()]);
  const { handled } = await waiting(id);
  await insertLedger(db, id, 'mail', 'done');
  await expect(wait(id, SHORT)).rejects.toThrow(/open: bill \(not begun\)/);
  await insertLedger(db, id, 'bill', 'done');
  await handled;
  await wait(id, { timeoutMs: 0 });
});

it('waits for the one handler that is named', async () => {
  const [id = ''] = await enqueue(db, [event()]);
  await insertLedger(db, id, 'mail', 'done');
  await wait(id, { handler: 'mail', timeoutMs: 0 });
  await expect(wait(id, { handler: 'bill', ...SHORT })).rejects.toBeInstanceOf(NotHandledError);
});

it('counts what was skipped as handled, also without a word in the ledger', async () => {
  const [id = ''] = await enqueue(db, [event({ type: 'Other' })]);
  await insertDelivery(db, { eventId: id, state: 'skipped', eventType: 'Other' });
  await wait(id, { timeoutMs: 0 });
});

it('waits for an event whose transaction has not committed yet', async () => {
  const id = randomUUID();
  const { handled } = await waiting(id);
  await enqueue(db, [event({ eventId: id, type: 'Other' })]);
  await insertLedger(db, id, 'mail', 'done');
  await handled;
  await expect(wait(randomUUID(), SHORT)).rejects.toThrow(/within 100 ms: no event of this id is in the outbox/);
});

it('rejects as soon as one of the handlers is dead, with its reason', async () => {
  const [id = ''] = await enqueue(db, [event()]);
  const { handled } = await waiting(id);
  await insertDelivery(db, { eventId: id, handler: 'bill', reason: 'no such account' });
  await expect(handled).rejects.toMatchObject({
    ...{ name: 'DeadLetterError', kind: 'dead-letter', eventId: id, handler: 'bill', reason: 'no such account' },
    message: `The event ${id} is a dead letter: bill gave it up (no such account)`,
  });
  await insertLedger(db, id, 'mail', 'done');
  await wait(id, { handler: 'mail', timeoutMs: 0 });
});

it('rejects when the relay gave the event up, but not when a handler did that nobody asked for', async () => {
  const [id = ''] = await enqueue(db, [event()]);
  await setStatus(db, id, 'dead_lettered');
  const error: unknown = await wait(id, SHORT).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DeadLetterError);
  expect(error).toMatchObject({ handler: null, reason: 'mail: no such host' });
  await insertDelivery(db, { eventId: id, handler: 'mail' });
  await expect(wait(id, { handler: 'bill', ...SHORT })).rejects.toBeInstanceOf(NotHandledError);
});

it('says after the time-out what is still open', async () => {
  const [id = ''] = await enqueue(db, [event()]);
  await insertDelivery(db, { eventId: id, state: 'waiting', attempts: 1 });
  await insertLedger(db, id, 'bill', `clock_timestamp() + interval '1 minute'`);
  await expect(wait(id, SHORT)).rejects.toMatchObject({
    ...{ name: 'NotHandledError', kind: 'not-handled', eventId: id, timeoutMs: 100 },
    open: 'its row in the outbox is pending; open: bill (running), mail (waiting after 1 attempt: no such host)',
  });
});

it('refuses at once to wait for nobody', async () => {
  const [id = ''] = await enqueue(db, [event({ type: 'Unheard' })]);
  await expect(wait(id)).rejects.toThrow(/No handler of events of type Unheard is recorded: start a worker/);
  await expect(wait(id, { handler: 'nosuch' })).rejects.toThrow(/No handler nosuch is recorded.* mail/);
  await expect(wait(id, { handler: 'idle' })).rejects.toThrow(/idle takes no events of type Unheard, but Nothing/);
  await expect(wait(id)).rejects.toBeInstanceOf(UnknownHandlerError);
  await expect(wait('7')).rejects.toThrow(/"7" is no event id: an event id is a UUID/);
});

it('looks more and more seldom, at least each 250 ms, and needs one statement for each look', async () => {
  const [id = ''] = await enqueue(db, [event()]);
  const { handled, looks } = await waiting(id, { timeoutMs: 3_000 });
  await expect(handled).rejects.toBeInstanceOf(NotHandledError);
  expect(looks()).toBeGreaterThanOrEqual(5);
  expect(looks()).toBeLessThanOrEqual(19);
});

it('takes the schema of OUTBOX_SCHEMA when none is given', async () => {
  const [id = ''] = await enqueue(db, [event({ type: 'Other' })]);
  await insertLedger(db, id, 'mail', 'done');
  process.env.OUTBOX_SCHEMA = schema;
  try {
    await waitUntilHandled(db.pool, id, { timeoutMs: 0 });
  } finally {
    delete process.env.OUTBOX_SCHEMA;
  }
});
