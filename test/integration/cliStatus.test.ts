import { defineHandler } from '../../src/handlers/defineHandler';
import type { Status } from '../../src/cli/statusPage';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import '../support/printedRoles';
import { runCli } from '../support/runCli';

let outbox: TestOutbox;
let fails = false;

beforeAll(async () => {
  // The second try of what fails comes after the test.
  outbox = await TestOutbox.create({ OUTBOX_BACKOFF_FIRST_MS: '600000', OUTBOX_BACKOFF_MAX_MS: '600000' });
  const mail = defineHandler({
    name: 'mail',
    events: ['ThingHappened'],
    run: () => (fails ? Promise.reject(new Error('no such host')) : Promise.resolve()),
  });
  await outbox.startWorker({}, { handlers: [mail] });
});
afterAll(() => outbox.close());

const status = async (settings = {}) =>
  JSON.parse((await runCli(['status', '--json'], { ...outbox.settings, ...settings })).stdout) as Status;

test('status shows relay, consumer, stream, handlers and delivery runs, and rates of the last minute', async () => {
  await enqueue(outbox.db, events(3));
  await outbox.allDone();
  fails = true;
  const [failing] = await enqueue(outbox.db, [event()]);
  outbox.onClose(() => outbox.client.workflow.getHandle(`deliver/${outbox.database.schema}/${failing}`).terminate());
  // Visibility is some seconds late, and what was received counts when its receive is over.
  await eventually(async () => {
    const told = await status();
    expect(told).toMatchObject({
      relay: { available: true, state: 'running', pausedSince: null, outage: null, totals: { published: 4 } },
      consumer: { available: true, state: 'receiving', totals: { received: 4 } },
      stream: { available: true, messages: 4, undelivered: 0, inHand: 0 },
      deliveryRuns: { available: true, open: 1 },
      database: {
        available: true,
        waitingDeliveries: 1,
        handlers: [{ handler: 'mail', waiting: 1, dead: 0, skipped: 0 }],
      },
      rates: { over: 'the last minute', enqueued: null },
    });
    expect(told.consumer?.available && told.consumer.workers).toHaveLength(1);
    return true;
  }, 120_000);
  fails = false;
});

test('a pause is shown with its time, for the relay alone, and rates are known while events are published', async () => {
  await enqueue(outbox.db, events(6));
  await outbox.allDone();
  const before = await status();
  expect(before.rates.published).toBeGreaterThan(0);
  await runCli(['pause'], outbox.settings);
  const paused = await status();
  expect(paused.relay).toMatchObject({ state: 'paused', pausedSince: expect.stringMatching(/^\d{4}-/) as string });
  expect(paused.consumer).toMatchObject({ state: 'receiving', pausedSince: null });
  const { stdout } = await runCli(['status'], outbox.settings);
  expect(stdout).toMatch(/Relay {2}[^]*state +paused since \d{4}-[^]*Consumer {2}[^]*state +receiving[^]*Stream {2}[^]*Outbox {2}[^]*HANDLER +WAITING +DEAD +SKIPPED/); // prettier-ignore
  await runCli(['resume'], outbox.settings);
});

test('the last and the next run of the clean-up are shown, and that its schedule is paused, or gone', async () => {
  const found = await eventually(async () => {
    const { maintenance } = await status();
    return maintenance.available && maintenance.last?.status === 'completed' ? maintenance : undefined;
  }, 120_000);
  expect(found).toMatchObject({ scheduleId: `outbox-maintenance/${outbox.database.schema}`, paused: false });
  expect(Date.parse(found.nextAt ?? '')).toBeGreaterThan(Date.parse(found.last?.at ?? ''));
  const page = async () => (await runCli(['status'], outbox.settings)).stdout;
  expect(await page()).toMatch(/Clean-up {2}[^]*last run +\d{4}-.*, completed\n +next run +\d{4}-/);
  await outbox.maintenance().pause();
  expect((await status()).maintenance).toMatchObject({ paused: true, nextAt: null });
  expect(await page()).toMatch(/next run +none, the schedule is paused/);
  await outbox.maintenance().delete();
  expect((await status()).maintenance).toMatchObject({
    available: false,
    reason: expect.stringMatching(/There is no schedule .*`outbox prune` removes them by hand/) as string,
  });
});

test('without NATS, or without Temporal, the rest is shown all the same', async () => {
  const withoutNats = await status({ NATS_URL: 'nats://127.0.0.1:1' });
  expect(withoutNats).toMatchObject({
    stream: { available: false },
    relay: { available: true },
    consumer: { available: true },
  });
  const withoutTemporal = await status({ TEMPORAL_ADDRESS: '127.0.0.1:1' });
  expect(withoutTemporal).toMatchObject({
    ...{ relay: { available: false }, consumer: { available: false }, deliveryRuns: { available: false } },
    maintenance: { available: false },
    ...{ stream: { available: true }, database: { available: true } },
  });
});

test('backend db has neither consumer nor stream to show', async () => {
  expect(await status({ EVENT_BUS_BACKEND: 'db' })).toMatchObject({ consumer: null, stream: null });
});
