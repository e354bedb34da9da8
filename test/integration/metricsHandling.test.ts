import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { defineEvent } from '../../src/handlers/defineEvent';
import { defineHandler } from '../../src/handlers/defineHandler';
import { insertRow } from '../support/aged';
import { Collecting } from '../support/collecting';
import { insertDelivery, insertLedger, recordHandlers } from '../support/deliveries';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';

const Thing = defineEvent('ThingHappened', { schema: z.object({ n: z.number() }) });

/** What `mail` does; each test says. */
let run: (eventId: string, signal: AbortSignal) => unknown;
const mail = defineHandler({
  name: 'mail',
  events: [Thing],
  run: async ({ eventId }, { signal }) => void (await run(eventId, signal)),
});

describe.each(['nats', 'db'] as const)('counted while handling, backend %s', (backend) => {
  let outbox: TestOutbox;
  let metrics: Collecting;
  beforeEach(async () => {
    run = () => undefined;
    outbox = await TestOutbox.create({
      EVENT_BUS_BACKEND: backend,
      OUTBOX_MISSING_HANDLER_MS: '600000',
      OUTBOX_NEWER_VERSION_MS: '600000',
      OUTBOX_LEDGER_RENEW_MS: '300',
      OUTBOX_SWEEP_AFTER_MS: '1000',
    });
  });
  afterEach(() => outbox.close());
  const start = async () => (metrics = await Collecting.start(outbox, {}, { handlers: [mail] }));

  it('an event that the ledger knows as done is a skip', async () => {
    await start();
    const eventId = randomUUID();
    await insertLedger(outbox.db, eventId, 'mail', 'done');
    await enqueue(outbox.db, [event({ eventId })]);
    await metrics.becomes(1, 'outbox_ledger_skips_total', { handler: 'mail' });
    expect(await metrics.total('outbox_handler_attempts_total', { handler: 'mail' })).toBe(0);
  });

  it('what is put off has its reason: held elsewhere, no handler here, or a newer version', async () => {
    await start();
    const deferred = (handler: string, reason: string) =>
      ['outbox_handler_deferrals_total', { handler, reason }] as const;
    const held = randomUUID();
    await insertLedger(outbox.db, held, 'mail', `clock_timestamp() + interval '1 hour'`);
    await enqueue(outbox.db, [event({ eventId: held }), event({ version: 2, aggregateId: 'b' })]);
    await metrics.becomes(1, ...deferred('mail', 'held elsewhere'));
    await metrics.becomes(1, ...deferred('mail', 'newer version'));
    // Asked for by a delivery run, which finds it held as well.
    const again = await insertRow(outbox.db, backend === 'db' ? 'retrying' : 'done', { age: '1 minute' });
    await insertLedger(outbox.db, again, 'mail', `clock_timestamp() + interval '1 hour'`);
    await insertDelivery(outbox.db, { eventId: again, state: 'waiting', attempts: 0 });
    await metrics.becomes(2, ...deferred('mail', 'held elsewhere'));

    await recordHandlers(outbox.db, { mail: ['ThingHappened'], newer: ['OtherHappened'] });
    await enqueue(outbox.db, [event({ type: 'OtherHappened', aggregateId: 'c' })]);
    // By the worker that took it in, and by its delivery run.
    await metrics.becomes(2, ...deferred('newer', 'no handler'));
    expect(await metrics.total(...deferred('newer', 'newer version'))).toBeNaN();
    expect(await metrics.total('outbox_handler_attempts_total')).toBe(0);
  });

  it('an event that its handler can never take is a dead letter of that handler, without an entry', async () => {
    await start();
    await enqueue(outbox.db, [event({ payload: { n: 'seven' } })]);
    await metrics.becomes(1, 'outbox_handler_exhausted_total', { handler: 'mail' });
    await metrics.becomes(1, 'outbox_deliveries', { handler: 'mail', state: 'dead' });
    expect(await metrics.total('outbox_handler_attempts_total', { handler: 'mail' })).toBe(0);
  });

  it('a ledger claim that another took over is lost here; one whose worker is gone is taken over, in both ways', async () => {
    run = (eventId, signal) =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve());
        void outbox.db.query(
          'UPDATE :schema.processed_events SET started_at = started_at + $2::interval, lease_until = clock_timestamp() + $3::interval WHERE event_id = $1',
          [eventId, '1 ms', '1 hour'],
        );
      });
    await start();
    await enqueue(outbox.db, [event()]);
    await metrics.becomes(1, 'outbox_leases_lost_total', { lease: 'ledger' });

    run = () => undefined;
    const left = randomUUID();
    await insertLedger(outbox.db, left, 'mail', `clock_timestamp() - interval '1 second'`);
    await enqueue(outbox.db, [event({ eventId: left })]);
    await metrics.becomes(1, 'outbox_leases_taken_over_total', { lease: 'ledger' });
    const waiting = await insertRow(outbox.db, backend === 'db' ? 'retrying' : 'done', {
      age: '1 minute',
      payload: '{"n":1}',
    });
    await insertLedger(outbox.db, waiting, 'mail', `clock_timestamp() - interval '1 second'`);
    await insertDelivery(outbox.db, { eventId: waiting, state: 'waiting', attempts: 1 });
    await metrics.becomes(2, 'outbox_leases_taken_over_total', { lease: 'ledger' });
    expect(await metrics.total('outbox_delivery_run_starts_total', { by: 'sweep' })).toBeGreaterThanOrEqual(1);
    expect(await metrics.total('outbox_leases_lost_total', { lease: 'ledger' })).toBe(1);
  });

  it('what had not begun when the worker stopped was returned', async () => {
    let begun = 0;
    run = (_, signal) => {
      begun++;
      return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    };
    await start();
    await enqueue(outbox.db, events(4));
    await eventually(() => begun === 1);
    await eventually(async () => (await metrics.total('outbox_events_in_hand')) === 4);
    await metrics.worker.stop();
    const [name, labels] =
      backend === 'db'
        ? (['outbox_events_settled_total', { outcome: 'returned' }] as const)
        : (['outbox_messages_received_total', { outcome: 'returned' }] as const);
    expect(await metrics.total(name, labels)).toBeGreaterThanOrEqual(3);
  });

  it('a sweep that PostgreSQL refuses has failed, and goes on as done when it does not', async () => {
    await start();
    await eventually(async () => (await metrics.total('outbox_sweeps_total', { result: 'done' })) > 0);
    expect(await metrics.total('outbox_sweeps_total', { result: 'failed' })).toBe(0);
    await outbox.db.query('ALTER TABLE :schema.deliveries RENAME TO elsewhere');
    await eventually(async () => (await metrics.total('outbox_sweeps_total', { result: 'failed' })) > 0);
    await outbox.db.query('ALTER TABLE :schema.elsewhere RENAME TO deliveries');
    const done = await metrics.total('outbox_sweeps_total', { result: 'done' });
    await eventually(async () => (await metrics.total('outbox_sweeps_total', { result: 'done' })) > done);
  });
});

describe('counted of rows, backend db', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({
      EVENT_BUS_BACKEND: 'db',
      OUTBOX_BACKOFF_FIRST_MS: '600000',
      OUTBOX_BACKOFF_MAX_MS: '600000',
    });
  });
  afterEach(() => outbox.close());

  it('one that another claim took is lost here, taken over by the next claim, and spared its handler then', async () => {
    run = (eventId) =>
      outbox.db.query('UPDATE :schema.event_queue SET claim_token = claim_token - 1 WHERE event_id = $1', [eventId]);
    const metrics = await Collecting.start(outbox, {}, { handlers: [mail] });
    await enqueue(outbox.db, [event()]);
    await metrics.becomes(1, 'outbox_ledger_skips_total', { handler: 'mail' });
    expect(await metrics.total('outbox_leases_lost_total', { lease: 'outbox' })).toBe(1);
    expect(await metrics.total('outbox_leases_taken_over_total', { lease: 'outbox' })).toBe(1);
  });

  it('one whose lease is over is taken over, though its claim is none of the relay', async () => {
    await insertRow(outbox.db, 'processing', { age: '1 hour', payload: '{"n":1}' });
    await outbox.db.query(
      `UPDATE :schema.event_queue SET claim_token = -1, claimed_at = claimed_at - interval '1 hour'`,
    );
    run = () => undefined;
    const metrics = await Collecting.start(outbox, {}, { handlers: [mail] });
    await metrics.becomes(1, 'outbox_leases_taken_over_total', { lease: 'outbox' });
    await outbox.allDone();
  });

  it('one whose handler failed is settled as retrying, and stands in the backlog as such', async () => {
    run = () => Promise.reject(new Error('no such host'));
    const metrics = await Collecting.start(outbox, {}, { handlers: [mail] });
    await enqueue(outbox.db, [event()]);
    await metrics.becomes(1, 'outbox_events_settled_total', { outcome: 'retrying' });
    await metrics.becomes(1, 'outbox_backlog_events', { status: 'retrying' });
    expect(await metrics.total('outbox_backlog_events')).toBe(1);
  });
});
