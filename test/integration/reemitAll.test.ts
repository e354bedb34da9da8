import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { WorkflowHandle } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import pino from 'pino';
import { createReemitActivities } from '../../src/activities/reemits';
import type { ReemitAllResult } from '../../src/workflows/messages';
import { deliveryOf, insertDelivery } from '../support/deliveries';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox, type Settings } from '../support/outbox';

/** A re-emit of everything whose statement takes long: here, as long as somebody else has the table. */
describe('a re-emit of everything that takes long', () => {
  let outbox: TestOutbox;
  const create = async (settings: Settings = {}) => void (outbox = await TestOutbox.create(settings));
  afterEach(() => outbox.close());

  it.each(['signal', 'update'])(
    'by %s keeps nothing from being published, also when a roll-over is due, which comes when it is over',
    async (way) => {
      await create({ OUTBOX_ROLL_OVER_EVENTS: '100' });
      await outbox.startWorker();
      const dead = await insertDelivery(outbox.db);
      const lock = await lockDeliveries();
      const { runId } = (await outbox.relay().describe()) as { runId: string };
      const answer = begin(way);
      await eventually(async () => (await pendingStep())?.lastStartedTime);
      await publishUntil(async () => (await outbox.relay().describe()).historyLength >= 150);
      // Not of the re-emit, which takes what was dead at its beginning.
      const behind = await insertDead();
      await outbox.relay().signal('reemit', { ids: [behind] });
      await publishUntil(async () => (await outbox.relay().describe()).historyLength >= 180);
      expect((await outbox.relay().describe()) as { runId: string }).toMatchObject({ runId });
      expect((await outbox.status()).state).toBe('running');

      await lock.release();
      expect(await answer).toEqual(way === 'update' ? { revived: 1 } : undefined);
      await eventually(async () => (await outbox.status()).totals.continuedAsNew >= 1);
      await outbox.allDone();
      expect((await outbox.streamCounts()).get(behind)).toBe(1);
      expect(await deliveryOf(outbox.db, dead)).toMatchObject({ state: 'waiting', attempts: 0 });
    },
  );

  it('lets the history grow to twenty times what it would be, and then waits', async () => {
    await create({ OUTBOX_ROLL_OVER_EVENTS: '50', OUTBOX_LONG_POLL_MS: '300' });
    await outbox.startWorker();
    await insertDelivery(outbox.db);
    const lock = await lockDeliveries();
    const { workflowId } = outbox.relay();
    const { runId } = (await outbox.relay().describe()) as { runId: string };
    const run = outbox.client.workflow.getHandle(workflowId, runId);
    await begin('signal');
    // Signals are history, too. What has not been published at the end of it is published by the next run.
    await eventually(async () => {
      await enqueue(outbox.db, [event()]);
      await run.signal('wake');
      return (await outbox.status()).state === 'continuing as new';
    }, 120_000);
    await lock.release();
    await outbox.allDone();
    await eventually(async () => (await outbox.status()).totals.continuedAsNew >= 1);
    const { historyLength } = await run.describe();
    expect(historyLength).toBeGreaterThanOrEqual(1_000);
    expect(historyLength).toBeLessThan(1_200);
  });

  it('is not taken for lost while one statement of it outlasts the heartbeat time-out', async () => {
    await create();
    await outbox.startWorker();
    const dead = await insertDelivery(outbox.db);
    const lock = await lockDeliveries();
    const answer = begin('update');
    const { heartbeatTimeoutMs } = outbox.config().relay;
    await eventually(async () => {
      const step = await pendingStep();
      if (!step?.lastHeartbeatTime || !step.lastStartedTime) return false;
      return ms(step.lastHeartbeatTime) - ms(step.lastStartedTime) > heartbeatTimeoutMs;
    });
    await lock.release();
    expect(await answer).toEqual({ revived: 1 });
    expect(await deliveryOf(outbox.db, dead)).toMatchObject({ state: 'waiting' });
  });

  it('goes on counting where a lost attempt had got to, and says so in each heartbeat, before it finds anything too', async () => {
    await create();
    await insertDelivery(outbox.db);
    const lock = await lockDeliveries();
    const { reemitAll } = createReemitActivities({ db: outbox.db, logger: pino({ level: 'silent' }) });
    const activity = new MockActivityEnvironment(
      { attempt: 2, heartbeatDetails: 7 },
      { logger: new DefaultLogger('ERROR') },
    );
    const beats: unknown[] = [];
    activity.on('heartbeat', (details: unknown) => beats.push(details));
    const result = activity.run<[object], ReemitAllResult, typeof reemitAll>(reemitAll, {});
    await eventually(() => beats.length >= 2);
    expect(new Set(beats)).toEqual(new Set([7]));
    await lock.release();
    expect(await result).toEqual({ revived: 8 });
    expect(beats.at(-1)).toBe(8);
  });

  /** Nobody revives a dead letter of a handler until `release`. The relay itself does without that table. */
  async function lockDeliveries(): Promise<{ release: () => Promise<void> }> {
    const client = new Client({ connectionString: outbox.database.url });
    await client.connect();
    await client.query('BEGIN');
    await client.query(`LOCK TABLE "${outbox.db.schema}".deliveries IN EXCLUSIVE MODE`);
    let open = true;
    const release = async () => {
      if (open) await client.end();
      open = false;
    };
    outbox.onClose(release);
    return { release };
  }

  /** @returns the answer of an update; a signal has none */
  function begin(way: string): Promise<ReemitAllResult | undefined> {
    const relay: WorkflowHandle = outbox.relay();
    if (way === 'signal') return relay.signal('reemitAll').then(() => undefined);
    return relay.executeUpdate<ReemitAllResult, []>('reemitAll', { args: [] });
  }

  async function pendingStep() {
    const { raw } = await outbox.relay().describe();
    return raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'reemitAll');
  }

  /** One event after the other: each is published before the next is written. */
  async function publishUntil(look: () => Promise<boolean>): Promise<void> {
    do {
      const [id = ''] = await enqueue(outbox.db, [event()]);
      await eventually(async () => (await statusOf(id)) === 'done', 30_000, 'an event published beside the re-emit');
    } while (!(await look()));
  }

  async function statusOf(id: string): Promise<string | undefined> {
    const { rows } = await outbox.db.query<{ status: string }>(
      'SELECT status FROM :schema.event_queue WHERE event_id = $1',
      [id],
    );
    return rows[0]?.status;
  }

  /** A dead letter of the relay. */
  async function insertDead(): Promise<string> {
    const id = randomUUID();
    await outbox.db.query(
      `INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload, status, failed_at, failure_reason)
       VALUES ($1, 'ThingHappened', 'thing', 'a', '{}', 'dead_lettered', clock_timestamp(), 'for the test')`,
      [id],
    );
    return id;
  }
});

function ms({ seconds, nanos }: { seconds?: unknown; nanos?: number | null }): number {
  return Number(seconds ?? 0) * 1_000 + (nanos ?? 0) / 1e6;
}
