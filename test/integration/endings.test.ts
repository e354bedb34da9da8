import { enqueue, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';

/** Ends that nobody asks for in order: a cancelled relay, a claim whose worker cannot be told. */
describe('a relay that is cancelled in the Temporal UI', () => {
  let outbox: TestOutbox;
  beforeAll(async () => {
    outbox = await TestOutbox.create();
  });
  afterAll(() => outbox.close());

  it('settles what it has, ends as cancelled without a failed task, and is begun anew by the next worker', async () => {
    const first = await outbox.startWorker();
    await enqueue(outbox.db, events(1_500));
    await eventually(async () => (await outbox.status()).totals.claimed > 0);
    const handle = outbox.relay();
    const { runId } = await handle.describe();
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow();
    expect((await handle.describe()).status.name).toBe('CANCELLED');
    expect((await outbox.rowsByStatus()).processing).toBeUndefined();
    const { events: history = [] } = await outbox.client.workflow.getHandle(handle.workflowId, runId).fetchHistory();
    expect((history ?? []).filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
    await first.stop();

    await outbox.startWorker();
    await enqueue(outbox.db, events(10));
    await outbox.allDone();
    const counts = [...(await outbox.streamCounts()).values()];
    expect(counts).toHaveLength(1_510);
    expect(new Set(counts)).toEqual(new Set([1]));
  });
});

describe('a pause while the claiming worker is frozen', () => {
  let outbox: TestOutbox;
  beforeAll(async () => {
    outbox = await TestOutbox.create({ OUTBOX_HEARTBEAT_TIMEOUT_MS: '2000' });
  });
  afterAll(() => outbox.close());

  it('is confirmed only when that worker can claim nothing more: thawed, it publishes none of the new events', async () => {
    const frozen = await outbox.spawnWorker();
    await enqueue(outbox.db, events(1));
    await outbox.allDone();
    // Its claim is open and waits for events; the second worker is there for the workflow, and for the fence.
    frozen.child.kill('SIGSTOP');
    await outbox.spawnWorker();
    await outbox.relay().executeUpdate('pause');
    await enqueue(outbox.db, events(5));
    frozen.child.kill('SIGCONT');
    // It has looked: the wake-up of the five has reached it, and its claim has found the newer fence or has been ended.
    await eventually(async () => {
      const { rows } = await outbox.db.query<{ quiet: boolean }>(
        `SELECT count(*) = 0 AS quiet FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()`,
      );
      return rows[0]?.quiet;
    });
    await frozen.kill('SIGTERM');
    expect(await outbox.rowsByStatus()).toEqual({ done: 1, pending: 5 });
    expect(await outbox.messages()).toHaveLength(1);
    await outbox.relay().executeUpdate('resume');
    await outbox.allDone();
  }, 90_000);
});
