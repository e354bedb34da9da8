import { CrashWorld, PATIENCE_MS } from '../crash/world';
import { defineHandler } from '../../src/handlers/defineHandler';
import { within } from '../../src/within';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { Proxy } from '../support/proxy';

/** What a busy machine adds. */
const BUSY_MS = 7_000;

describe('a worker told to stop while PostgreSQL stands still', () => {
  /** With twice of it a stop would still come before the statement's own time-out, which ends the wait as well. */
  const GRACE_MS = 12_000;

  it('ends within its grace and what its closing takes, though events are in hand that it can write nothing about', () =>
    CrashWorld.during({ EVENT_BUS_BACKEND: 'db', OUTBOX_SHUTDOWN_GRACE_MS: `${GRACE_MS}` }, async (world) => {
      const proxy = await Proxy.to(world.outbox.database.url);
      world.outbox.onClose(() => proxy.close());
      const worker = await world.worker({ DATABASE_URL: proxy.url(world.outbox.database.url) });
      const other = await world.outbox.database.owner.pool.connect();
      try {
        await other.query(`BEGIN; LOCK TABLE ${world.outbox.database.schema}.processed_events IN EXCLUSIVE MODE`);
        await enqueue(world.db, [event({ type: 'Outside' })]);
        await eventually(() => waiting(world.outbox, 'claim ledger'), PATIENCE_MS, 'a ledger claim under way');
        proxy.silence();
      } finally {
        other.release(true);
      }
      expect(await within(GRACE_MS + 5_000 + BUSY_MS, worker.kill('SIGTERM'))).toBe(0);
    }), 300_000); // prettier-ignore
});

describe('a worker told to stop before it is ready', () => {
  const WITHIN_MS = 5_000;
  let outbox: TestOutbox;

  beforeEach(async () => {
    outbox = await TestOutbox.create({ OUTBOX_MIGRATE: 'on' });
  });
  afterEach(() => outbox.close());

  it.each([
    ['while another session migrates', undefined, false],
    ['while another session migrates, as `outbox worker`', 'handlers.mjs', false],
    ['while PostgreSQL stands still', undefined, true],
  ])(
    '%s ends with 0 within seconds',
    async (_, handlers, frozen) => {
      const { owner, url } = outbox.database;
      const proxy = await Proxy.to(url);
      outbox.onClose(() => proxy.close());
      const other = await owner.pool.connect();
      try {
        await other.query(`BEGIN; SELECT pg_advisory_xact_lock(hashtext('temporal-outbox migrate'))`);
        const worker = await outbox.spawnWorker(
          { DATABASE_URL: proxy.url(url), CRASH_DIRECTORY: '.' },
          { awaitReady: false, ...(handlers && { handlers: `${__dirname}/../crash/${handlers}` }) },
        );
        await eventually(() => waiting(outbox, 'lock migration'), PATIENCE_MS, 'a start that waits its turn');
        if (frozen) proxy.silence();
        expect(await within(WITHIN_MS + BUSY_MS, worker.kill('SIGTERM'))).toBe(0);
        expect(worker.logs.at(-1)).toContain('The worker has stopped');
        expect(worker.logs.filter((line) => line.includes('While stopping'))).toEqual([]);
      } finally {
        other.release(true);
      }
    },
    200_000,
  );
});

describe('a worker that stops while an attempt of a delivery run is at work', () => {
  it('does not join the consumer again, which would ask a queue that nobody polls any more', async () => {
    // The consumer would be taken to have lost sight of it 3 s after its last receive.
    const outbox = await TestOutbox.create({
      OUTBOX_OWN_QUEUE_TIMEOUT_MS: '500',
      OUTBOX_HEARTBEAT_TIMEOUT_MS: '2000',
      OUTBOX_SHUTDOWN_GRACE_MS: '16000',
    });
    try {
      let second = (): void => undefined;
      const atWork = new Promise<void>((resolve) => (second = resolve));
      const slow = defineHandler({
        name: 'slow',
        events: ['ThingHappened'],
        run: async (_, { attempt, signal }) => {
          if (attempt === 1) throw new Error('no');
          second();
          // At three quarters of the grace.
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          signal.throwIfAborted();
        },
      });
      const worker = await outbox.startWorker({}, { handlers: [slow] });
      await enqueue(outbox.db, [event()]);
      await atWork;
      const stopped = worker.stop();
      const before = await joins(outbox);
      expect(before).toBeGreaterThan(0);
      await stopped;
      expect(await joins(outbox)).toBe(before);
    } finally {
      await outbox.close();
    }
  }, 120_000);

  async function joins(outbox: TestOutbox): Promise<number> {
    const { events } = await outbox.consumer().fetchHistory();
    return (events ?? []).filter((each) => each.workflowExecutionSignaledEventAttributes?.signalName === 'join').length;
  }
});

/** Statements of that name that wait for a lock. */
async function waiting(outbox: TestOutbox, name: string): Promise<number> {
  const { rowCount } = await outbox.database.owner.query(
    `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%/* outbox: ' || $1 || '%'`,
    [name],
  );
  return rowCount ?? 0;
}
