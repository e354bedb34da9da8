import { createServer, type AddressInfo } from 'node:net';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { ANY_PORT, endpointOf, scrape, total, scraped } from '../support/metrics';
import { TestOutbox } from '../support/outbox';
import { Proxy } from '../support/proxy';

/** A trip to another process and back on a busy machine. */
const SECONDS = 60;

describe('health of a worker', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create(ANY_PORT);
  });
  afterEach(() => outbox.close());

  const ready = async (endpoint: string) => {
    const response = await fetch(`${endpoint}/readyz`);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };

  const becomes = (endpoint: string, status: number) =>
    eventually(
      async () => {
        const answer = await ready(endpoint);
        return answer.status === status ? answer : undefined;
      },
      SECONDS * 1_000,
      `/readyz with ${status}`,
    );

  it.each([
    { part: 'postgres', setting: 'DATABASE_URL', server: 'PostgreSQL' },
    { part: 'nats', setting: 'NATS_URL', server: 'NATS' },
    { part: 'temporal', setting: 'TEMPORAL_ADDRESS', server: 'Temporal' },
  ] as const)(
    'is alive and not ready while $server is away, names it alone, still answers a scrape, and is ready once it is back',
    async ({ part, setting, server }) => {
      const direct = outbox.settings[setting]!;
      const proxy = await Proxy.to(direct);
      outbox.onClose(() => proxy.close());
      const through = direct.includes('://') ? proxy.url(direct) : new URL(proxy.url(`tcp://${direct}`)).host;
      const endpoint = await endpointOf(await outbox.spawnWorker({ [setting]: through }));
      expect((await becomes(endpoint, 200)).body).toEqual({
        ...{ ready: true, polling: { ok: true }, postgres: { ok: true }, temporal: { ok: true }, nats: { ok: true } },
      });
      await scraped(endpoint, (all) => total(all, 'outbox_ready') === 1 && total(all, 'outbox_broker_up') === 1);

      proxy.takeAway();
      const { body } = await becomes(endpoint, 503);
      const others = ['postgres', 'temporal', 'nats'].filter((other) => other !== part);
      expect(body).toMatchObject({ ready: false, ...Object.fromEntries(others.map((other) => [other, { ok: true }])) });
      expect(body[part]).toMatchObject({ ok: false, reason: expect.stringContaining(server) as string });
      expect((await fetch(`${endpoint}/healthz`)).status).toBe(200);
      // What cannot be read is left out, as soon as what was read before is too old; the rest is there.
      const samples = await scraped(
        endpoint,
        (all) =>
          total(all, 'outbox_ready') === 0 &&
          total(all, 'outbox_database_up') === Number(part !== 'postgres') &&
          total(all, 'outbox_broker_up') === Number(part !== 'nats') &&
          Number.isNaN(total(all, 'outbox_backlog_events')) === (part === 'postgres'),
      );
      expect(total(samples, 'outbox_events_claimed_total')).toBe(0);
      expect(total(samples, 'temporal_request_total')).toBeGreaterThan(0);

      proxy.giveBack();
      expect((await becomes(endpoint, 200)).body).toMatchObject({ ready: true });
    },
  );

  it('is alive and not ready while it waits for Temporal at its start', async () => {
    const worker = await outbox.spawnWorker({ TEMPORAL_ADDRESS: '127.0.0.1:1' }, { awaitReady: false });
    const endpoint = await endpointOf(worker);
    expect((await fetch(`${endpoint}/healthz`)).status).toBe(200);
    const { status, body } = await ready(endpoint);
    expect([status, body.polling, body.temporal]).toEqual([
      503,
      { ok: false, reason: 'the worker does not poll its task queues yet' },
      { ok: false, reason: 'Temporal has not been connected to yet' },
    ]);
    // A scrape is answered all the same, and does not make a state up.
    expect(total(await scrape(endpoint), 'outbox_relay_state', { state: 'unknown' })).toBe(1);
    // And tells what it knows: an alert must not take it for gone.
    const samples = await scrape(endpoint);
    expect([total(samples, 'outbox_build_info'), total(samples, 'outbox_ready')]).toEqual([1, 0]);
    expect((await fetch(`${endpoint}/elsewhere`)).status).toBe(404);
    expect((await fetch(`${endpoint}/metrics`, { method: 'POST' })).status).toBe(405);
  });

  it('takes the next port of several when one is taken', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    outbox.onClose(() => new Promise((resolve) => taken.close(resolve)));
    const { port } = taken.address() as AddressInfo;
    const last = Math.min(65_535, port + 20);
    const worker = await outbox.spawnWorker({ OUTBOX_METRICS_ADDRESS: `127.0.0.1:${port}-${last}` });
    const endpoint = await endpointOf(worker);
    expect(Number(new URL(endpoint).port)).toBeGreaterThan(port);
    expect((await fetch(`${endpoint}/healthz`)).status).toBe(200);
  });

  it('warns once and works when its port is taken, since several workers on a host are normal', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    outbox.onClose(() => new Promise((resolve) => taken.close(resolve)));
    const { port } = taken.address() as AddressInfo;
    const worker = await outbox.spawnWorker({ OUTBOX_METRICS_ADDRESS: `127.0.0.1:${port}` });
    await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    const warnings = worker.logs.filter((line) => line.includes('No metrics are served'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('OUTBOX_METRICS_ADDRESS');
    expect(await worker.kill('SIGTERM')).toBe(0);
  });
});
