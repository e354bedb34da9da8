import { WorkflowUpdateFailedError } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeadLetterFilter, PauseResult, ReemitAllResult, ReemitResult } from '../../src/workflows/messages';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox, type Settings } from '../support/outbox';
import { OwnServers } from '../support/ownServers';
import { Proxy } from '../support/proxy';

const LONG = process.env.OUTBOX_TEST_LONG === 'on';

describe('controlling the relay', () => {
  let outbox: TestOutbox;

  beforeEach(async () => {
    outbox = await TestOutbox.create();
  });
  afterEach(() => outbox.close());

  describe('by signals', () => {
    it('input of any kind is logged once and ignored, fails no workflow task, and what is valid in it is done (C26)', async () => {
      const worker = await outbox.spawnWorker();
      const [dead, ...others] = await deadRows(11);
      const list = Array.from({ length: 5_000 }, () => randomUUID() as string);
      list.splice(2_500, 1, dead!);
      const relay = outbox.relay();
      await relay.signal('reemit');
      await relay.signal('reemit', null);
      await relay.signal('reemit', 42);
      await relay.signal('reemit', {});
      await relay.signal('reemit', 'text', 'more');
      await relay.signal('reemit', { ids: 'not-a-uuid' });
      await relay.signal('reemit', { ids: ['not-a-uuid', 7, null, {}] });
      await relay.signal('reemit', { ids: [randomUUID()] });
      await relay.signal('reemit', { ids: list });
      await relay.signal('reemit', { ids: [...others, 'and one that is none'] });
      for (const filter of [42, 'all', [], { evenType: 'X' }, { since: 'yesterday' }, { companyId: 1 }])
        await relay.signal('reemitAll', filter);
      for (const name of ['pause', 'resume', 'wake']) await relay.signal(name, { unexpected: true });
      await relay.signal('no such signal', { a: 1 });
      const [row] = await enqueue(outbox.db, [event()]);
      await outbox.allDone();
      expect(await outbox.streamCounts()).toEqual(once([dead!, ...others, row!]));
      const { rows } = await outbox.db.query<{ seconds: number }>(
        `SELECT extract(epoch FROM published_at - available_at)::float8 AS seconds FROM :schema.event_queue WHERE event_id = $1`,
        [row],
      );
      // A machine to itself is what the long tests are given.
      expect(rows[0]!.seconds).toBeLessThan(LONG ? 5 : 20);
      expect(await failedTasks()).toEqual([]);
      const said = (text: string) => worker.logs.filter((line) => line.includes(text)).length;
      // Its last line; a pipe is read later than the database.
      await eventually(() => said('A signal that the relay does not know was ignored') > 0);
      expect(said('A reemit signal was ignored')).toBe(6);
      expect(said('A reemit signal held what is no event id')).toBe(2);
      expect(said('A reemitAll signal was ignored')).toBe(6);
      expect(said('A signal that the relay does not know was ignored')).toBe(1);
    });

    it('a payload that is not even JSON is ignored, and fails no workflow task (C26)', async () => {
      await outbox.startWorker();
      await enqueue(outbox.db, [event()]);
      await outbox.allDone();
      for (const encoding of ['json/plain', 'binary/unheard-of']) await signalRaw('reemit', encoding, 'no json');
      // Least of all must it become a filter that names everything.
      const [dead] = await deadRows(1);
      await signalRaw('reemitAll', 'json/plain', 'no json');
      const [row] = await enqueue(outbox.db, [event()]);
      await eventually(async () => (await outbox.rowsByStatus()).done === 2);
      expect((await outbox.streamCounts()).get(row!)).toBe(1);
      expect(await outbox.rowsByStatus()).toEqual({ done: 2, dead_lettered: 1 });
      expect((await outbox.streamCounts()).has(dead!)).toBe(false);
      expect(await failedTasks()).toEqual([]);
    });

    it('300 single re-emits survive the roll-overs that they cause, and ordinary rows flow meanwhile (C23)', async () => {
      // Shortened: a roll-over each 60 events instead of 250, and the signals sent one after the other instead of over 60 s. On a
      // busy machine many of them come with one task, and are one step.
      use({ OUTBOX_ROLL_OVER_EVENTS: '60' });
      const dead = await deadRows(300);
      await outbox.startWorker();
      const ordinary: string[] = [];
      for (const [index, id] of dead.entries()) {
        await outbox.relay().signal('reemit', { ids: [id] });
        if (index % 10 === 0) ordinary.push(...(await enqueue(outbox.db, [event()])));
        if (LONG) await sleep(200);
      }
      await outbox.allDone();
      expect(await outbox.streamCounts()).toEqual(once([...dead, ...ordinary]));
      await eventually(async () => {
        const { totals, state } = await outbox.status();
        if (totals.continuedAsNew < 3 || state !== 'running')
          throw new Error(`${state} after ${totals.continuedAsNew} roll-overs`);
        return true;
      });
      const { rows } = await outbox.db.query<{ gap: number }>(
        `SELECT max(extract(epoch FROM published_at - before))::float8 AS gap
           FROM (SELECT published_at, lag(published_at) OVER (ORDER BY published_at) AS before
                   FROM :schema.event_queue WHERE event_id = ANY ($1)) AS ordinary`,
        [ordinary],
      );
      expect(rows[0]!.gap).toBeLessThan(LONG ? 10 : 30);
    }, 180_000);

    it('more re-emits than one payload holds survive a roll-over (C23)', async () => {
      use({ OUTBOX_ROLL_OVER_EVENTS: '60' });
      const dead = await deadRows(15);
      await outbox.startWorker();
      // 15 lists of 5,000 ids are 2.9 MB, and the server takes 2 MB.
      await Promise.all(
        dead.map((id) =>
          outbox.relay().signal('reemit', { ids: [...Array.from({ length: 4_999 }, () => randomUUID()), id] }),
        ),
      );
      await outbox.allDone();
      expect(await outbox.streamCounts()).toEqual(once(dead));
      await eventually(async () => (await outbox.status()).totals.continuedAsNew >= 1);
    });

    it('a roll-over threshold of one event does not keep the relay from its work', async () => {
      use({ OUTBOX_ROLL_OVER_EVENTS: '1' });
      await outbox.startWorker();
      await enqueue(outbox.db, events(3));
      await outbox.allDone();
    });

    it('pause and resume stop and continue the flow, and say so in the status', async () => {
      await outbox.startWorker();
      await enqueue(outbox.db, [event()]);
      await outbox.allDone();
      await outbox.relay().signal('pause');
      await eventually(async () => (await outbox.status()).state === 'paused');
      await enqueue(outbox.db, events(5));
      await outbox.relay().signal('wake');
      await eventually(async () => (await outbox.status()).state === 'paused');
      expect(await outbox.rowsByStatus()).toEqual({ done: 1, pending: 5 });
      await outbox.relay().signal('resume');
      await outbox.allDone();
    });
  });

  describe('by updates', () => {
    it('after a pause has resolved nothing is published until the resume', async () => {
      use({ OUTBOX_BATCH_SIZE: '200' });
      await enqueue(outbox.db, events(10_000));
      await outbox.startWorker();
      for (const after of [400, 2_000, 4_000]) {
        await eventually(async () => ((await outbox.rowsByStatus()).done ?? 0) >= after);
        expect(await update<PauseResult>('pause')).toEqual({ changed: true });
        const { state } = await outbox.manager.streams.info(outbox.config().nats.stream);
        const { processing, done } = await outbox.rowsByStatus();
        expect([processing, done]).toEqual([undefined, state.messages]);
        await outbox.relay().signal('wake');
        await enqueue(outbox.db, [event()]);
        expect(await update<PauseResult>('pause')).toEqual({ changed: false });
        expect((await outbox.status()).state).toBe('paused');
        expect((await outbox.manager.streams.info(outbox.config().nats.stream)).state.messages).toBe(state.messages);
        expect(await update<PauseResult>('resume')).toEqual({ changed: true });
      }
      expect(await update<PauseResult>('resume')).toEqual({ changed: false });
      await outbox.allDone();
    });

    it('a pause ends an idle long poll at once, and it and the totals survive a roll-over', async () => {
      // A long poll of ten minutes, which a pause must not wait for; and a roll-over each 60 events.
      use({ OUTBOX_LONG_POLL_MS: '600000', OUTBOX_ROLL_OVER_EVENTS: '60' });
      await outbox.startWorker();
      const ids = await enqueue(outbox.db, events(7));
      await outbox.allDone();
      await eventually(async () => (await outbox.status()).totals.published === 7);
      await update<PauseResult>('pause');
      const { runId } = (await outbox.relay().describe()) as { runId: string };
      await eventually(async () => {
        await outbox.relay().signal('wake');
        return (await outbox.relay().describe()).runId !== runId;
      });
      ids.push(...(await enqueue(outbox.db, [event()])));
      const { state, totals } = await outbox.status();
      expect([state, totals.published, totals.continuedAsNew >= 1]).toEqual(['paused', 7, true]);
      expect(await outbox.rowsByStatus()).toEqual({ done: 7, pending: 1 });
      await update<PauseResult>('resume');
      await outbox.allDone();
      expect(await outbox.streamCounts()).toEqual(once(ids));
    });

    it('reemit returns what was revived and what was refused and why, and refuses what is no list of ids', async () => {
      await outbox.startWorker();
      const [done] = await enqueue(outbox.db, [event()]);
      await outbox.allDone();
      const [dead] = await deadRows(1);
      const unknown = randomUUID();
      const { revived, refused } = await update<ReemitResult>('reemit', {
        ids: [dead, done, unknown, 'no-uuid', dead],
      });
      expect(revived).toEqual([dead]);
      expect(Object.fromEntries(refused.map(({ id, reason }) => [id, reason.split(':')[0]]))).toEqual({
        [done!]: 'done',
        [unknown]: 'unknown',
        'no-uuid': 'not an event id',
      });
      await outbox.allDone();
      expect(await outbox.streamCounts()).toEqual(once([done!, dead!]));
      for (const bad of [[], [null], [42], [{}], [{ ids: 'x' }], [{ ids: [1] }]]) {
        await expect(update('reemit', ...bad)).rejects.toMatchObject({
          name: WorkflowUpdateFailedError.name,
          cause: { message: 'send {"ids": ["<event id>", …]}' },
        });
      }
      expect(await failedTasks()).toEqual([]);
    });

    it('reemitAll returns how many it revived of those that the filter names, and refuses a filter it cannot read', async () => {
      await outbox.startWorker();
      const company = randomUUID();
      await deadRows(3, { type: 'A' });
      await deadRows(2, { type: 'B', company });
      for (const bad of [
        42,
        [],
        'all',
        { evenType: 'A' },
        { companyId: 'x' },
        { since: 'yesterday' },
        { eventType: 1 },
      ]) {
        await expect(update('reemitAll', bad)).rejects.toBeInstanceOf(WorkflowUpdateFailedError);
      }
      const reemitAll = async (...filter: [DeadLetterFilter?]) =>
        (await update<ReemitAllResult>('reemitAll', ...filter)).revived;
      expect(await reemitAll({ since: '2999-01-01T00:00:00Z' })).toBe(0);
      expect(await reemitAll({ eventType: 'A', companyId: company })).toBe(0);
      expect(await reemitAll({ companyId: company })).toBe(2);
      expect(await reemitAll()).toBe(3);
      expect(await reemitAll({})).toBe(0);
      await outbox.allDone();
      expect(await outbox.messages()).toHaveLength(5);
      expect(await failedTasks()).toEqual([]);
    });
  });

  it('status is answered while PostgreSQL is away; a pause asked for meanwhile is confirmed when its claim is known to be over', async () => {
    const direct = outbox.config().databaseUrl;
    const proxy = await Proxy.to(direct);
    outbox.onClose(() => proxy.close());
    await outbox.startWorker({ DATABASE_URL: proxy.url(direct) });
    await enqueue(outbox.db, events(4));
    await outbox.allDone();
    await eventually(async () => (await outbox.status()).totals.published === 4);
    proxy.takeAway();
    expect(await outbox.status()).toMatchObject({ totals: { published: 4 } });
    const pause = update<PauseResult>('pause');
    await eventually(async () => ['pausing', 'paused'].includes((await outbox.status()).state));
    await enqueue(outbox.db, events(1));
    proxy.giveBack();
    expect(await pause).toEqual({ changed: true });
    expect((await outbox.status()).state).toBe('paused');
    expect(await outbox.rowsByStatus()).toEqual({ done: 4, pending: 1 });
    await update<PauseResult>('resume');
    await outbox.allDone();
  });

  it(
    'no run of the relay grows past a bound, busy or idle, and each ends by continuing as new (C24)',
    async () => {
      // Shortened: the server suggests a roll-over after 60 events instead of 4,096; 20,000 rows instead of 100,000, in
      // batches of 500; idle for four roll-overs with a long poll of 0.1 s instead of 30 minutes.
      const own = new OwnServers();
      const temporal = await own.temporal(
        LONG ? [] : ['--dynamic-config-value', 'limit.historyCount.suggestContinueAsNew=60'],
      );
      const busy = await TestOutbox.create({
        TEMPORAL_ADDRESS: temporal.url,
        OUTBOX_BATCH_SIZE: '500',
        OUTBOX_LONG_POLL_MS: '100',
      });
      try {
        await enqueue(busy.db, events(20_000));
        for (let more = 1; LONG && more < 5; more++) await enqueue(busy.db, events(20_000));
        await busy.startWorker();
        await busy.allDone(120_000);
        const afterDrain = (await busy.status()).totals.continuedAsNew;
        if (LONG) await sleep(30 * 60_000);
        else await eventually(async () => (await busy.status()).totals.continuedAsNew >= afterDrain + 4);
        const runs = await eventually(async () => {
          const found: { status: string; events: number; bytes: number }[] = [];
          const query = `WorkflowId = '${busy.relay().workflowId}'`;
          for await (const run of busy.client.workflow.list({ query }))
            found.push({ status: run.status.name, events: run.historyLength ?? 0, bytes: run.historySize ?? 0 });
          // The list is behind: for a moment the last run and its successor are both shown as running, or none is.
          const running = found.filter(({ status }) => status === 'RUNNING').length;
          return found.length > afterDrain && running === 1 ? found : undefined;
        });
        expect(afterDrain).toBeGreaterThanOrEqual(LONG ? 1 : 3);
        expect(runs.filter(({ status }) => status === 'RUNNING')).toHaveLength(1);
        expect(runs.filter(({ status }) => !['RUNNING', 'CONTINUED_AS_NEW'].includes(status))).toEqual([]);
        expect(Math.max(...runs.map(({ events }) => events))).toBeLessThan(LONG ? 10_000 : 300);
        expect(Math.max(...runs.map(({ bytes }) => bytes))).toBeLessThan(LONG ? 5e6 : 300_000);
      } finally {
        await busy.close();
        await own.close();
      }
    },
    45 * 60_000,
  );

  it('NATS_MODE=core publishes each event once to who listens, in order, without any stream, and says what that means', async () => {
    // Core NATS drops no second copy: no worker must be taken for gone here.
    use({ NATS_MODE: 'core', OUTBOX_HEARTBEAT_TIMEOUT_MS: '60000', OUTBOX_OWN_QUEUE_TIMEOUT_MS: '60000' });
    const heard: string[] = [];
    outbox.nats.subscribe(`${outbox.config().nats.subjectPrefix}.>`, {
      callback: (_error, message) => void heard.push(message.headers?.get('Nats-Msg-Id') ?? ''),
    });
    await outbox.nats.flush();
    const ids = await enqueue(outbox.db, events(2_000));
    const worker = await outbox.startWorker();
    ids.push(...(await enqueue(outbox.db, events(10))));
    await outbox.allDone();
    await eventually(() => heard.length >= ids.length);
    expect(heard).toEqual(ids);
    await expect(outbox.manager.streams.info(outbox.config().nats.stream)).rejects.toThrow('stream not found');
    expect(worker.logs.filter(({ msg }) => String(msg).startsWith('NATS_MODE=core'))).toHaveLength(1);
  });

  function use(settings: Settings): void {
    Object.assign(outbox.settings, settings);
  }

  function update<Result>(name: string, ...args: unknown[]): Promise<Result> {
    return outbox.relay().executeUpdate<Result, [unknown]>(name, { args: args as [unknown] });
  }

  /** Dead letters as the relay leaves them. */
  async function deadRows(count: number, { type = 'ThingHappened', company = null as string | null } = {}) {
    const { rows } = await outbox.db.query<{ id: string }>(
      `INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, company_id, payload, status, attempts, failed_at, failure_reason)
       SELECT gen_random_uuid(), $2, 'thing', 'a', $3, '{}', 'dead_lettered', 3, clock_timestamp(), 'for the test'
         FROM generate_series(1, $1) RETURNING event_id::text AS id`,
      [count, type, company],
    );
    return rows.map(({ id }) => id);
  }

  /** Failed workflow tasks of the current run, with their causes. */
  async function failedTasks(): Promise<unknown[]> {
    const { events: history } = await outbox.relay().fetchHistory();
    return (history ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
      failed ? [failed.failure?.message] : [],
    );
  }

  async function signalRaw(signalName: string, encoding: string, data: string): Promise<void> {
    await outbox.client.workflowService.signalWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: outbox.relay().workflowId },
      signalName,
      requestId: randomUUID(),
      input: { payloads: [{ metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(data) }] },
    });
  }
});

function once(ids: readonly string[]): Map<string, number> {
  return new Map(ids.map((id) => [id, 1]));
}
