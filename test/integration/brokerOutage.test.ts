import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Server } from '../../src/servers';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox, type Settings } from '../support/outbox';
import { OwnServers } from '../support/ownServers';

const LONG = process.env.OUTBOX_TEST_LONG === 'on';
const DEFAULT_SCHEDULE: Settings = { OUTBOX_BACKOFF_FIRST_MS: '5000', OUTBOX_BACKOFF_MAX_MS: '300000' };
/** Long waits between the relay's own looks: whoever goes on soon was told to. */
const PATIENT: Settings = { OUTBOX_BACKOFF_FIRST_MS: '600000', OUTBOX_BACKOFF_MAX_MS: '600000' };

describe('an outage of the broker', () => {
  const own = new OwnServers();
  let nats: Server;
  let outbox: TestOutbox;

  beforeAll(async () => {
    nats = await own.nats();
  });
  afterAll(() => own.close());
  beforeEach(async () => {
    outbox = await TestOutbox.create({ NATS_URL: nats.url });
  });
  afterEach(async () => {
    await nats.start();
    await outbox.close();
  });

  it('spends no attempt, kills no event and no worker, and ends without a restart (C06)', async () => {
    use({ EVENT_QUEUE_MAX_ATTEMPTS: '3', ...(LONG ? DEFAULT_SCHEDULE : PATIENT) });
    const worker = await outbox.startWorker();
    const second = await outbox.spawnWorker();
    await nats.stop();
    const ids = await enqueue(outbox.db, events(50));
    await waiting();
    // Shortened: the first look at the absence instead of 90 s of it.
    if (LONG) await sleep(90_000);
    expect(await unspent()).toEqual({ rows: 50, attempts: 0, dead: 0, done: 0 });
    await eventually(async () => (await outbox.rowsByStatus()).processing === undefined, undefined, 'no row in hand');

    const asked = performance.now();
    expect(await second.kill('SIGTERM')).toBe(0);
    // Its grace and 5 s, and what a busy machine adds.
    const { shutdownGraceMs } = outbox.config().worker;
    expect(performance.now() - asked).toBeLessThan(shutdownGraceMs + 5_000 + (LONG ? 0 : 15_000));
    expect(await unspent()).toEqual({ rows: 50, attempts: 0, dead: 0, done: 0 });

    await nats.start();
    await outbox.allDone(LONG ? 320_000 : undefined);
    expect(await outbox.streamCounts()).toEqual(once(ids));
    expect((await outbox.status()).state).toBe('running');
    // One line when it goes and one when it is back, not one per look.
    await eventually(() => worker.logs.some(({ msg }) => String(msg).includes('answers again')));
    expect(worker.logs.filter(({ msg }) => /NATS at .* was lost/.test(String(msg)))).toHaveLength(1);
  }, 600_000);

  it('a broker that hangs is an outage like any other (C06)', async () => {
    use({ OUTBOX_PUBLISH_TIMEOUT_MS: '4000', ...PATIENT });
    await outbox.startWorker();
    const [before] = await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    await nats.kill('SIGSTOP');
    const ids = await enqueue(outbox.db, events(50));
    await waiting();
    expect(await unspent()).toEqual({ rows: 51, attempts: 0, dead: 0, done: 1 });
    await nats.kill('SIGCONT');
    await outbox.allDone();
    expect(await outbox.streamCounts()).toEqual(once([before!, ...ids]));
  });

  it('a broker that is killed in the middle of a drain costs no event, and stores none twice (C06)', async () => {
    // Shortened: 500 rows a batch, so that the kill meets a drain of 40 batches.
    use({ OUTBOX_BATCH_SIZE: '500', ...PATIENT });
    const ids = await enqueue(outbox.db, events(20_000));
    await outbox.startWorker();
    await eventually(async () => ((await outbox.rowsByStatus()).done ?? 0) >= 2_000);
    await nats.kill('SIGKILL');
    await waiting();
    const { attempts, dead } = await unspent();
    expect([attempts, dead]).toEqual([0, 0]);
    await nats.start();
    await outbox.allDone();
    expect(await outbox.streamCounts()).toEqual(once(ids));
  });

  it('a worker that starts before its broker says so, waits, and makes the stream when it comes (C06)', async () => {
    use(PATIENT);
    await nats.stop();
    const worker = await outbox.startWorker();
    const ids = await enqueue(outbox.db, events(3));
    await waiting();
    expect(worker.logs.filter(({ msg }) => /NATS at .* cannot be used/.test(String(msg)))).toHaveLength(1);
    await nats.start();
    await outbox.allDone();
    expect(await outbox.streamCounts()).toEqual(once(ids));
  });

  it('the wake signal ends the wait for the broker', async () => {
    use(PATIENT);
    await nats.stop();
    await outbox.startWorker();
    await waiting();
    const { lastError } = await outbox.status();
    await outbox.relay().signal('wake');
    // It looked again, at once, and found the broker still away.
    await eventually(async () => {
      const now = await outbox.status();
      return now.state === 'waiting for the broker' && now.lastError!.at > lastError!.at;
    });
  });

  it('a worker with wrong credentials ends with exit code 1 and one clear line', async () => {
    await withPassword(async () => {
      const worker = await outbox.spawnWorker(
        { NATS_URL: nats.url.replace('nats://', 'nats://outbox:wrong@') },
        { awaitReady: false },
      );
      expect(await worker.exited).toBe(1);
      const fatal = worker.logs.filter((line) => line.includes('"fatal"'));
      expect(fatal).toHaveLength(1);
      expect(fatal[0]).toContain('refused the credentials: check ');
      expect(fatal[0]).not.toContain('wrong');
    });
  });

  it('a worker whose credentials are refused for a while goes on when they are taken again', async () => {
    use({ OUTBOX_BACKOFF_MAX_MS: '500' });
    await outbox.startWorker();
    const [before] = await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    const ids = await enqueue(outbox.db, [event({ availableAt: new Date(Date.now() + 500) })]);
    await withPassword(async () => {
      await waiting();
    });
    await outbox.allDone();
    await eventually(async () => (await outbox.status()).state === 'running');
    expect([...(await storedIds())].sort()).toEqual([before!, ...ids].sort());
  });

  function use(settings: Settings): void {
    Object.assign(outbox.settings, settings);
  }

  async function waiting(): Promise<void> {
    await eventually(async () => (await outbox.status()).state === 'waiting for the broker');
  }

  async function unspent() {
    const { rows } = await outbox.db.query(
      `SELECT count(*)::integer AS rows, sum(attempts)::integer AS attempts,
              count(*) FILTER (WHERE status = 'dead_lettered')::integer AS dead,
              count(*) FILTER (WHERE status = 'done')::integer AS done
         FROM :schema.event_queue`,
    );
    return rows[0] as { rows: number; attempts: number; dead: number; done: number };
  }

  /** The server asks for a password while `run` runs, and drops all who are connected without. */
  async function withPassword(run: () => Promise<void>): Promise<void> {
    const file = join(own.directory, 'n', 'nats.conf');
    const plain = readFileSync(file, 'utf8');
    appendFileSync(file, 'authorization { user: outbox, password: right }\n');
    await nats.kill('SIGHUP');
    try {
      await run();
    } finally {
      writeFileSync(file, plain);
      await nats.kill('SIGHUP');
    }
  }

  /** By a connection of its own: the refused one is closed for good. */
  async function storedIds(): Promise<string[]> {
    const reader = await TestOutbox.create({ NATS_URL: nats.url, OUTBOX_STREAM: outbox.config().nats.stream });
    try {
      return (await reader.messages()).map(({ eventId }) => eventId);
    } finally {
      await reader.close();
    }
  }
});

function once(ids: readonly string[]): Map<string, number> {
  return new Map(ids.map((id) => [id, 1]));
}
