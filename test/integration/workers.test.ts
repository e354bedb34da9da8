import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TemporalServer } from '../../src/servers';
import { emptyDatabase } from '../support/database';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { ANY_PORT, endpointOf } from '../support/metrics';
import { TestOutbox, type Settings, type WorkerProcess } from '../support/outbox';
import { OwnServers } from '../support/ownServers';
import { Proxy } from '../support/proxy';

const LONG = process.env.OUTBOX_TEST_LONG === 'on';
const GRACE_MS = 5_000;
/** What a busy machine adds. */
const BUSY_MS = LONG ? 0 : 15_000;
/** Batches of 1,000 rows instead of 4,000, or of 400 where a smaller backlog will do: a signal must meet a drain under way. */
const BACKLOG = 20_000;
const MANY_BATCHES: Settings = { OUTBOX_BATCH_SIZE: '1000' };
const SMALL_BACKLOG = 8_000;
const SMALL_BATCHES: Settings = { OUTBOX_BATCH_SIZE: '400' };
/** Where a worker is lost on purpose. */
const SOON_GONE: Settings = { OUTBOX_HEARTBEAT_TIMEOUT_MS: '2000', OUTBOX_OWN_QUEUE_TIMEOUT_MS: '1000' };

describe('workers', () => {
  let outbox: TestOutbox;

  beforeEach(async () => {
    outbox = await TestOutbox.create();
  });
  afterEach(() => outbox.close());

  it('a worker outlives the loss of all its database connections, while idle and while claiming, and proves its listener again (C38)', async () => {
    // The poll is long, so that an event picked up soon was a wake-up.
    use({ OUTBOX_POLL_MS: '600000', OUTBOX_LONG_POLL_MS: '600000', OUTBOX_LOG_LEVEL: 'debug', ...SMALL_BATCHES });
    const worker = await outbox.spawnWorker();
    const listening = () => worker.logs.filter((line) => line.includes('Listening for wake-ups')).length;
    const ids = await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    await eventually(() => listening() > 0);
    const before = listening();

    expect(await terminateBackends()).toBeGreaterThan(1);
    const woken: string[] = [];
    for (let n = 0; n < 5; n++) {
      woken.push(...(await enqueue(outbox.db, [event()])));
      await outbox.allDone();
      if (n === 0) await eventually(() => listening() > before);
      if (LONG) await sleep(10_000);
    }
    ids.push(...woken);
    const [first = NaN, ...later] = await Promise.all(woken.map(pickedUpIn));
    // All of them in the long tests; else by the quickest, as a busy machine adds to one or the other, and against the 200 ms
    // of a poll without wake-ups.
    expect(LONG ? Math.max(...later) : Math.min(...later)).toBeLessThan(LONG ? 50 : 150);
    if (LONG) expect(first).toBeLessThan(2_000);

    ids.push(...(await enqueue(outbox.db, events(SMALL_BACKLOG))));
    await drained(1_000);
    expect(await terminateBackends()).toBeGreaterThan(1);
    await drained(4_000);
    expect(await terminateBackends()).toBeGreaterThan(1);
    await outbox.allDone();
    expect(await outbox.streamCounts()).toEqual(once(ids));
    expect(alive(worker.child)).toBe(true);
  });

  it('SIGTERM in the middle of a drain ends the worker within its grace, and whatever it had not published is free at once (C39)', async () => {
    use(SMALL_BATCHES);
    const ids = await enqueue(outbox.db, events(BACKLOG));
    const worker = await outbox.spawnWorker();
    await drained(1_000);
    await stopsInTime(worker);
    // What is left to `processing` is acknowledged and waits for its mark only, which any worker writes.
    const stored = await outbox.streamCounts();
    expect((await idsOf('processing')).filter((id) => !stored.has(id))).toEqual([]);
    expect((await idsOf('pending')).length).toBeGreaterThan(0);

    const next = await outbox.spawnWorker();
    await outbox.allDone();
    expect(await outbox.streamCounts()).toEqual(once(ids));
    await stopsInTime(next);
  });

  it('SIGTERM while idle, and a second SIGTERM meanwhile, end the worker with exit code 0 (C39)', async () => {
    const worker = await outbox.spawnWorker();
    await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    worker.child.kill('SIGTERM');
    await stopsInTime(worker);
  });

  it('SIGTERM while PostgreSQL is away ends the worker within its grace, and the rows it had are published by the next (C39)', async () => {
    const proxy = await Proxy.to(outbox.config().databaseUrl);
    outbox.onClose(() => proxy.close());
    const direct = outbox.config().databaseUrl;
    const worker = await outbox.spawnWorker({ DATABASE_URL: proxy.url(direct), ...SMALL_BATCHES });
    const ids = await enqueue(outbox.db, events(SMALL_BACKLOG));
    await drained(1_000);
    proxy.takeAway();
    await stopsInTime(worker);
    await outbox.spawnWorker();
    await outbox.allDone();
    expect(await outbox.streamCounts()).toEqual(once(ids));
  });

  it('a worker killed in the middle of a drain is replaced by another, and each event is stored once', async () => {
    use({ ...MANY_BATCHES, ...SOON_GONE });
    const ids = await enqueue(outbox.db, events(BACKLOG));
    const workers = await Promise.all([outbox.spawnWorker(), outbox.spawnWorker()]);
    const claiming = await claimingWorker(workers, 1_000);
    await claiming.kill('SIGKILL');
    await outbox.allDone();
    expect(await outbox.streamCounts()).toEqual(once(ids));
    expect(await outbox.rowsByStatus()).toEqual({ done: BACKLOG });
  });

  it('a worker frozen past its heartbeats in the middle of a drain changes nothing and loses nothing when it goes on', async () => {
    // Shortened: heartbeats count for 2 s instead of 5 s. Temporal still hands the frozen worker a task
    // for each of its polls, two of them workflow tasks with 10 s each.
    use({ ...MANY_BATCHES, ...SOON_GONE });
    const ids = await enqueue(outbox.db, events(BACKLOG));
    const workers = await Promise.all([outbox.spawnWorker(), outbox.spawnWorker()]);
    const frozen = await claimingWorker(workers, 1_000);
    frozen.child.kill('SIGSTOP');
    await outbox.allDone(60_000);
    const before = await settledRows();
    frozen.child.kill('SIGCONT');
    const more = await enqueue(outbox.db, events(2_000));
    await outbox.allDone();
    expect(await outbox.streamCounts()).toEqual(once([...ids, ...more]));
    // It has written nothing to rows that were settled without it.
    expect((await settledRows()).slice(0, before.length)).toEqual(before);
    await stopsInTime(frozen);
  }, 120_000);

  it('a claim that another relay takes over ends, and no event is lost or stored twice', async () => {
    // A slice of 6 s keeps the claim open with rows in it.
    use({ OUTBOX_SLICE_MS: '6000' });
    const worker = await outbox.startWorker();
    const ids = await enqueue(outbox.db, events(5));
    await eventually(async () => (await outbox.rowsByStatus()).processing === 5);
    await outbox.db.query(`UPDATE :schema.relay_fence SET epoch = epoch + 1`);
    await outbox.db.query(
      `UPDATE :schema.event_queue SET claim_token = (SELECT epoch FROM :schema.relay_fence) WHERE id <= 2`,
    );
    ids.push(...(await enqueue(outbox.db, events(5))));
    await eventually(() => worker.logs.some(({ msg }) => String(msg).startsWith('A newer claim has begun elsewhere')));
    await outbox.allDone();
    expect(await outbox.streamCounts()).toEqual(once(ids));
  });

  it('a worker whose OUTBOX_STREAM differs from the running relay refuses to start, and says which setting', async () => {
    await outbox.spawnWorker();
    const other = await outbox.spawnWorker(
      { OUTBOX_STREAM: `${outbox.config().nats.stream}_2`, OUTBOX_SUBJECT_PREFIX: `${outbox.database.schema}_2` },
      { awaitReady: false },
    );
    outbox.onClose(() => outbox.manager.streams.delete(`${outbox.config().nats.stream}_2`).catch(() => undefined));
    expect(await other.exited).toBe(1);
    expect(fatal(other)).toEqual([expect.stringContaining('differs from the running relay')]);
    expect(fatal(other)[0]).toContain('in OUTBOX_STREAM');
  });

  it('a worker of another installation refuses to start at a running relay, and says which setting', async () => {
    const foreign = await emptyDatabase(outbox.database.schema);
    outbox.onClose(() => foreign.drop());
    await outbox.spawnWorker();
    const other = await outbox.spawnWorker({ DATABASE_URL: foreign.url }, { awaitReady: false });
    expect(await other.exited).toBe(1);
    expect(fatal(other)).toEqual([expect.stringContaining('the database (DATABASE_URL, OUTBOX_SCHEMA)')]);
  });

  describe('and Temporal', () => {
    const own = new OwnServers();
    let temporal: TemporalServer;

    beforeAll(async () => {
      temporal = await own.temporal();
    });
    afterAll(() => own.close());

    // The first of these: nothing has ever run in this namespace.
    it('three that start at the same second share one relay, and all live (C28)', async () => {
      const racing = await TestOutbox.create({ TEMPORAL_ADDRESS: temporal.url });
      try {
        const workers = await Promise.all([racing.spawnWorker(), racing.spawnWorker(), racing.spawnWorker()]);
        const ids = await enqueue(racing.db, events(30));
        await racing.allDone();
        expect(await racing.streamCounts()).toEqual(once(ids));
        if (LONG) await sleep(60_000);
        expect(await executions(racing)).toEqual(['RUNNING']);
        expect(workers.map(({ child }) => alive(child))).toEqual([true, true, true]);
      } finally {
        await racing.close();
      }
    }, 180_000);

    it('a worker that starts before Temporal waits, does not call itself ready, and relays when it comes (C28)', async () => {
      const late = await TestOutbox.create({ TEMPORAL_ADDRESS: temporal.url, ...ANY_PORT });
      try {
        await temporal.stop();
        const worker = await late.spawnWorker({}, { awaitReady: false });
        const ids = await enqueue(late.db, events(3));
        await eventually(() => worker.logs.some((line) => line.includes('does not answer yet')));
        expect(worker.logs.some((line) => line.includes('The worker is ready'))).toBe(false);
        const endpoint = await endpointOf(worker);
        // Shortened: its first look at the absence instead of 30 s of it.
        if (LONG) await sleep(30_000);
        expect((await fetch(`${endpoint}/readyz`)).status).toBe(503);
        expect(alive(worker.child)).toBe(true);
        await temporal.start();
        await late.allDone(30_000);
        await eventually(async () => (await fetch(`${endpoint}/readyz`)).status === 200, undefined, 'a ready worker');
        expect(await late.streamCounts()).toEqual(once(ids));
      } finally {
        await temporal.start();
        await late.close();
      }
    }, 120_000);

    it('a Temporal that is killed under load and comes back costs no event and no worker', async () => {
      const loaded = await TestOutbox.create({ TEMPORAL_ADDRESS: temporal.url, ...MANY_BATCHES });
      try {
        const ids = await enqueue(loaded.db, events(BACKLOG));
        const worker = await loaded.spawnWorker();
        await eventually(async () => ((await loaded.rowsByStatus()).done ?? 0) >= 1_000);
        await temporal.kill('SIGKILL');
        ids.push(...(await enqueue(loaded.db, events(10))));
        await temporal.start();
        await loaded.allDone(60_000);
        expect(await loaded.streamCounts()).toEqual(once(ids));
        expect(alive(worker.child)).toBe(true);
      } finally {
        await temporal.start();
        await loaded.close();
      }
    }, 120_000);
  });

  function use(settings: Settings): void {
    Object.assign(outbox.settings, settings);
  }

  async function drained(rows: number): Promise<void> {
    await eventually(async () => ((await outbox.rowsByStatus()).done ?? 0) >= rows);
  }

  async function stopsInTime(worker: WorkerProcess): Promise<void> {
    const asked = performance.now();
    expect(await worker.kill('SIGTERM')).toBe(0);
    // A worker that waited for a statement's answer would wait for 30 s.
    expect(performance.now() - asked).toBeLessThan(GRACE_MS + 5_000 + BUSY_MS);
  }

  /** The worker that holds the claim once `rows` are done. */
  async function claimingWorker(workers: WorkerProcess[], rows: number): Promise<WorkerProcess> {
    await drained(rows);
    const { worker } = await outbox.status();
    const found = workers.find(({ child }) => worker?.includes(`-${child.pid}-`));
    if (!found) throw new Error(`none of the workers is ${worker}`);
    return found;
  }

  async function idsOf(status: string): Promise<string[]> {
    const { rows } = await outbox.db.query<{ id: string }>(
      `SELECT event_id::text AS id FROM :schema.event_queue WHERE status = $1`,
      [status],
    );
    return rows.map(({ id }) => id);
  }

  async function settledRows(): Promise<unknown[]> {
    return (await outbox.db.query(`SELECT id, status, published_at FROM :schema.event_queue ORDER BY id`)).rows;
  }

  /** All connections of others to this test's database. */
  async function terminateBackends(): Promise<number> {
    const { rows } = await outbox.db.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'test'`,
    );
    return rows.length;
  }

  /** From the commit of an event to its message, in milliseconds. */
  async function pickedUpIn(id: string): Promise<number> {
    const { rows } = await outbox.db.query<{ at: number }>(
      `SELECT (extract(epoch FROM available_at) * 1000)::float8 AS at FROM :schema.event_queue WHERE event_id = $1`,
      [id],
    );
    const message = (await outbox.messages()).find(({ eventId }) => eventId === id)!;
    const stored = await outbox.manager.streams.getMessage(outbox.config().nats.stream, { seq: message.seq });
    return stored!.time.getTime() - rows[0]!.at;
  }
});

async function executions(outbox: TestOutbox): Promise<string[]> {
  const query = `WorkflowId = '${outbox.relay().workflowId}'`;
  return eventually(async () => {
    const found: string[] = [];
    for await (const { status } of outbox.client.workflow.list({ query })) found.push(status.name);
    return found.length > 0 ? found : undefined;
  });
}

function alive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

function fatal(worker: WorkerProcess): string[] {
  return worker.logs.filter((line) => line.includes('"fatal"'));
}

function once(ids: readonly string[]): Map<string, number> {
  return new Map(ids.map((id) => [id, 1]));
}
