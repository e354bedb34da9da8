import { defineHandler } from '../../src/handlers/defineHandler';
import { insertDoneLedger } from '../support/aged';
import { Collecting } from '../support/collecting';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled } from '../support/handled';
import { TestOutbox } from '../support/outbox';

const SETTLED = 'outbox_events_settled_total';

describe('counted at the broker', () => {
  let outbox: TestOutbox;
  let metrics: Collecting;
  /** While it is open, handlers wait. */
  let gate: Promise<void> = Promise.resolve();
  const mail = defineHandler({ name: 'mail', events: ['ThingHappened'], run: () => gate });
  const doomed = defineHandler({
    name: 'doomed',
    events: ['ThingDoomed'],
    run: () => Promise.reject(new Error('no such host')),
  });
  beforeEach(async () => {
    outbox = await TestOutbox.create({ OUTBOX_BACKOFF_FIRST_MS: '600000', OUTBOX_BACKOFF_MAX_MS: '600000' });
    metrics = await Collecting.start(outbox, {}, { handlers: [mail, doomed] });
  });
  afterEach(() => outbox.close());

  const stream = async (change: Parameters<typeof outbox.manager.streams.update>[1]) =>
    outbox.manager.streams.update(outbox.config().nats.stream, change);

  it('a message is received, and then handled, or handed over to a delivery run', async () => {
    await enqueue(outbox.db, [...events(3), event({ type: 'ThingDoomed' })]);
    const received = (outcome: string) => ['outbox_messages_received_total', { outcome }] as const;
    await metrics.becomes(4, ...received('received'));
    await metrics.becomes(3, ...received('handled'));
    await metrics.becomes(1, ...received('handed over'));
    expect(await metrics.total(...received('returned'))).toBe(0);
    expect(await metrics.total('outbox_delivery_run_starts_total', { by: 'fast path' })).toBe(1);
  });

  it('an event that the broker had already is published, and a duplicate', async () => {
    await enqueue(outbox.db, events(2));
    await metrics.becomes(2, SETTLED, { outcome: 'done' });
    await outbox.db.query(
      `UPDATE :schema.event_queue SET status = 'pending' WHERE id = (SELECT min(id) FROM :schema.event_queue)`,
    );
    await metrics.becomes(3, SETTLED, { outcome: 'done' });
    expect(await metrics.total('outbox_publish_duplicates_total')).toBe(1);
    expect(await metrics.total('outbox_events_published_total')).toBe(3);
  });

  it('an event that a full stream does not take is deferred, one that is too large is dead, and both stand in the backlog', async () => {
    await stream({ max_msg_size: 4_096 });
    await enqueue(outbox.db, [event({ payload: 'x'.repeat(8_192) })]);
    await metrics.becomes(1, SETTLED, { outcome: 'dead' });
    await metrics.becomes(1, 'outbox_backlog_events', { status: 'dead_lettered' });
    await enqueue(outbox.db, [event()]);
    await metrics.becomes(1, SETTLED, { outcome: 'done' });
    await stream({ max_msgs: 1, discard: 'new' });
    await enqueue(outbox.db, [event()]);
    await eventually(async () => (await metrics.total(SETTLED, { outcome: 'deferred' })) >= 1);
    await metrics.becomes(1, 'outbox_backlog_events', { status: 'deferred' });
    expect(await metrics.total(SETTLED, { outcome: 'done' })).toBe(1);
  });

  it('what handlers are behind with is told, also by a worker without handlers, and that the consumer is paused', async () => {
    const undelivered = ['outbox_stream_events', { state: 'undelivered' }] as const;
    await metrics.becomes(0, ...undelivered);
    await metrics.becomes(1, 'outbox_consumer_state', { state: 'receiving' });
    await outbox.consumer().executeUpdate('pause');
    await metrics.becomes(1, 'outbox_consumer_state', { state: 'paused' });
    await enqueue(outbox.db, events(3));
    await metrics.becomes(3, ...undelivered);
    const other = await Collecting.start(outbox);
    await other.becomes(3, ...undelivered);
    expect(await other.total('outbox_consumer_state')).toBeNaN();
    expect(await other.total('outbox_broker_up')).toBe(1);

    let open = (): void => undefined;
    gate = new Promise((resolve) => (open = resolve));
    await outbox.consumer().executeUpdate('resume');
    await metrics.becomes(3, 'outbox_stream_events', { state: 'in hand' });
    expect(await metrics.total(...undelivered)).toBe(0);
    open();
    await allHandled(outbox.db, 'mail', 3);
    await metrics.becomes(0, 'outbox_stream_events', { state: 'in hand' });
  });
});

describe('counted of the clean-up', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({ OUTBOX_MAINTENANCE_MS: '1000' });
    await insertDoneLedger(outbox.db, 1_500, '31 days');
  });
  afterEach(() => outbox.close());

  it('what it removes, by kind', async () => {
    const metrics = await Collecting.start(outbox);
    await metrics.becomes(1_500, 'outbox_pruned_rows_total', { kind: 'ledger' });
    await eventually(async () => (await metrics.total('outbox_prunes_total', { kind: 'done', result: 'done' })) > 0);
    expect(await metrics.total('outbox_pruned_rows_total')).toBe(1_500);
    expect(await metrics.total('outbox_prunes_total', { result: 'failed' })).toBe(0);
  });

  it('that it fails, at which kind', async () => {
    const archive = () => Promise.reject(new Error('the bucket is full'));
    const metrics = await Collecting.start(outbox, {}, { archive });
    await eventually(
      async () => (await metrics.total('outbox_prunes_total', { kind: 'ledger', result: 'failed' })) > 1,
    );
    expect(await metrics.total('outbox_prunes_total', { kind: 'ledger', result: 'done' })).toBe(0);
    expect(await metrics.total('outbox_pruned_rows_total')).toBe(0);
  });
});
