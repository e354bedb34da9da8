import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { enqueue, event, events } from '../support/events';
import { allHandled } from '../support/handled';
import { ANY_PORT, endpointOf, scrape, total, type Sample, scraped } from '../support/metrics';
import { TestOutbox } from '../support/outbox';

const LIBRARY = JSON.stringify(join(__dirname, '..', '..', 'dist', 'index.js'));
const HANDLERS = `
  const { defineHandler } = require(${LIBRARY});
  exports.handlers = [
    defineHandler({ name: 'mail', events: ['ThingHappened', 'ThingFailed'], run: (event, { attempt }) => {
      if (event.type === 'ThingFailed' && attempt === 1) throw new Error('the mail server is away');
    } }),
    defineHandler({ name: 'ledger', transactional: true, events: ['ThingHappened'], run: () => undefined }),
    defineHandler({ name: 'doomed', events: ['ThingDoomed'], run: () => { throw new Error('never'); } }),
  ];`;
/** A trip to another process and back on a busy machine. */
const SECONDS = 60;

let directory: string;
let handlers: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'outbox-metrics-'));
  handlers = join(directory, 'handlers.cjs');
  writeFileSync(handlers, HANDLERS);
});
afterAll(() => rmSync(directory, { recursive: true }));

describe.each(['nats', 'db'] as const)('metrics of a worker, backend %s', (backend) => {
  let outbox: TestOutbox;
  let endpoint: string;
  beforeAll(async () => {
    outbox = await TestOutbox.create({ ...ANY_PORT, EVENT_BUS_BACKEND: backend, EVENT_QUEUE_MAX_ATTEMPTS: '2' });
    endpoint = await endpointOf(await outbox.spawnWorker({}, { handlers }));
  });
  afterAll(() => outbox.close());

  const when = (holds: (samples: Sample[]) => boolean) => scraped(endpoint, holds);

  it('count what was claimed, published, settled and handled, and how long it took', async () => {
    await enqueue(outbox.db, events(20));
    await allHandled(outbox.db, 'mail', 20);
    const samples = await when((all) => total(all, 'outbox_events_settled_total', { outcome: 'done' }) === 20);
    expect(total(samples, 'outbox_events_claimed_total')).toBe(20);
    expect(total(samples, 'outbox_events_published_total')).toBe(backend === 'nats' ? 20 : 0);
    expect(total(samples, 'outbox_publish_latency_seconds_count')).toBe(backend === 'nats' ? 20 : 0);
    for (const handler of ['mail', 'ledger']) {
      expect(total(samples, 'outbox_handler_duration_seconds_count', { handler })).toBe(20);
      expect(total(samples, 'outbox_end_to_end_latency_seconds_count', { handler })).toBe(20);
      const seconds = total(samples, 'outbox_end_to_end_latency_seconds_sum', { handler });
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThan(20 * SECONDS);
    }
    expect(total(samples, 'outbox_handler_failures_total')).toBe(0);
    expect(total(samples, 'outbox_oldest_due_age_seconds')).toBe(0);
    expect(total(samples, 'outbox_relay_state', { state: 'running' })).toBe(1);
  });

  it('measure from when a scheduled event was due, not from when it was written', async () => {
    const late = (samples: Sample[]) => total(samples, 'outbox_end_to_end_latency_seconds_sum', { handler: 'mail' });
    const before = late(await scrape(endpoint));
    const anHourAgo = new Date(Date.now() - 3_600_000);
    await enqueue(outbox.db, [event({ occurredAt: anHourAgo, availableAt: new Date(Date.now() + 500) })]);
    await allHandled(outbox.db, 'mail', 21);
    const after = await when(
      (all) => total(all, 'outbox_end_to_end_latency_seconds_count', { handler: 'mail' }) === 21,
    );
    expect(late(after) - before).toBeGreaterThan(0);
    expect(late(after) - before).toBeLessThan(SECONDS);
  });

  it('count failures by handler and type, retries, and dead letters', async () => {
    await enqueue(outbox.db, [event({ type: 'ThingFailed' }), event({ type: 'ThingDoomed' })]);
    const samples = await when((all) => total(all, 'outbox_handler_exhausted_total', { handler: 'doomed' }) === 1);
    const failures = (handler: string, event_type: string) =>
      total(samples, 'outbox_handler_failures_total', { handler, event_type });
    expect([failures('mail', 'ThingFailed'), failures('mail', 'ThingHappened')]).toEqual([1, 0]);
    expect(failures('doomed', 'ThingDoomed')).toBe(2);
    const retried = await when(
      (all) => total(all, 'outbox_handler_attempts_total', { handler: 'mail', attempt: 'retry' }) === 1,
    );
    expect(total(retried, 'outbox_delivery_run_starts_total')).toBeGreaterThanOrEqual(2);
    // Read at most every few seconds.
    await when((all) => total(all, 'outbox_deliveries', { handler: 'doomed', state: 'dead' }) === 1);
  });

  it('say that the relay is paused', async () => {
    await outbox.relay().executeUpdate('pause');
    await when((all) => total(all, 'outbox_relay_state', { state: 'paused' }) === 1);
    await enqueue(outbox.db, events(3));
    const samples = await when((all) => total(all, 'outbox_backlog_events', { status: 'pending' }) === 3);
    expect(total(samples, 'outbox_due_events')).toBe(3);
    await when((all) => total(all, 'outbox_oldest_due_age_seconds') > 0);
    await outbox.relay().executeUpdate('resume');
    await when((all) => total(all, 'outbox_relay_state', { state: 'running' }) === 1);
  });

  it("hold those of Temporal's SDK, and no id of an event", async () => {
    const text = await (await fetch(`${endpoint}/metrics`)).text();
    expect(text).toMatch(/^temporal_request_total\{/m);
    expect(text).toMatch(/^temporal_activity_execution_latency_seconds_bucket\{/m);
    const { rows } = await outbox.db.query<{ id: string }>('SELECT event_id::text AS id FROM :schema.event_queue');
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter(({ id }) => text.includes(id))).toEqual([]);
  });
});
