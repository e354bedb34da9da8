import { jetstream, type StreamConfig } from '@nats-io/jetstream';
import { headers as newHeaders, nanos } from 'nats';
import { Client } from 'pg';
import { retryBackoff } from '../../src/backoff';
import { decodeHeaderValue } from '../../src/broker/headers';
import { ownerOf } from '../support/database';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox, type InProcessWorker, type Settings } from '../support/outbox';
import { Proxy } from '../support/proxy';
import { listenOnWire } from '../support/wire';

const LONG = process.env.OUTBOX_TEST_LONG === 'on';
/** In which small events are out beside large ones; on a busy machine anything may take longer. */
const SOON_S = LONG ? 5 : 20;

describe('publishing to JetStream', () => {
  let outbox: TestOutbox;

  afterEach(() => outbox.close());

  it('one event that no stream takes is deferred alone, and neither its batch nor its aggregate waits for it (C07)', async () => {
    // Shortened: first backoff 0.5 s instead of 5 s. A worker that is taken for gone has its rows sent again.
    outbox = await TestOutbox.create({
      OUTBOX_PROBE_MS: '600000',
      OUTBOX_HEARTBEAT_TIMEOUT_MS: '60000',
      OUTBOX_OWN_QUEUE_TIMEOUT_MS: '60000',
    });
    await makeStream({ subjects: [`${prefix()}.thing.ThingHappened`] });
    const wire = await listenOnWire(outbox.nats, `${prefix()}.thing.ThingHappened`);
    const ids = await enqueue(
      outbox.db,
      events(20, (index) => (index === 6 ? { type: 'ThingStrayed' } : {})),
    );
    await outbox.startWorker();

    const seen: { deferrals: number; waitMs: number }[] = [];
    await eventually(async () => {
      const [row] = await rows(`WHERE id = 7 AND status = 'deferred'`);
      if (row && row.deferrals > (seen.at(-1)?.deferrals ?? 0)) seen.push(row);
      return row !== undefined && row.deferrals >= 4;
    });
    // From one due time to the next there is the wait that was written, and what the broker's answer takes. A machine that
    // stands still may hide one of them; then there are the waits of both.
    const { backoffFirstMs, backoffMaxMs } = outbox.config().relay;
    const waits = (deferrals: number) =>
      Array.from({ length: deferrals }, (_, n) => retryBackoff(n + 1, backoffFirstMs, backoffMaxMs));
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
    expect(waits(4)).toEqual([500, 1_000, 2_000, 4_000]);
    seen.forEach(({ deferrals, waitMs }, index) => {
      const before = seen[index - 1] ?? { deferrals: 0, waitMs: 0 };
      expect(waitMs - before.waitMs).toBeGreaterThanOrEqual(sum(waits(deferrals)) - sum(waits(before.deferrals)));
    });
    const [stray] = await rows('WHERE id = 7');
    expect(stray).toMatchObject({ attempts: 0 });
    expect(stray!.reason).toContain(`no stream takes the subject ${prefix()}.thing.ThingStrayed`);
    expect(await outbox.rowsByStatus()).toMatchObject({ done: 19 });
    // All in the first pass: none was put back to wait for another.
    expect((await rows(`WHERE status = 'done'`)).filter(({ deferrals }) => deferrals > 0)).toEqual([]);

    const later = await enqueue(outbox.db, events(5));
    await eventually(async () => (await outbox.rowsByStatus()).done === 24);
    const good = [...ids.filter((_, index) => index !== 6), ...later];
    expect((await outbox.messages()).map(({ eventId }) => eventId)).toEqual(good);
    const sent = wire.counts();
    expect(good.map((id) => sent.get(id))).toEqual(good.map(() => 1));
  });

  it('one event that no stream takes does not hold up the backlog of 200 that it stands in (C07)', async () => {
    outbox = await TestOutbox.create();
    await makeStream({ subjects: [`${prefix()}.thing.ThingHappened`], allow_atomic: true });
    const ids = await enqueue(
      outbox.db,
      events(200, (index) => (index === 6 ? { type: 'ThingStrayed' } : {})),
    );
    await outbox.startWorker();
    await eventually(async () => (await outbox.rowsByStatus()).done === 199);
    expect((await outbox.messages()).map(({ eventId }) => eventId)).toEqual(ids.filter((_, index) => index !== 6));
  });

  it('an event that the stream has already is done without an attempt, a second copy, or an error in the log (C09)', async () => {
    outbox = await TestOutbox.create();
    await makeStream({});
    const [id] = await enqueue(outbox.db, [event()]);
    await publishByHand(id!);
    const worker = await outbox.startWorker();
    await outbox.allDone();
    expect(await rows()).toMatchObject([{ attempts: 0, deferrals: 0 }]);
    expect(await outbox.streamCounts()).toEqual(new Map([[id, 1]]));
    await eventually(async () => (await outbox.status()).totals.duplicates === 1);
    expect(errors(worker)).toEqual([]);
  });

  it('an event whose worker is killed between publish and mark is done by the next, without an attempt or a second copy (C09)', async () => {
    outbox = await TestOutbox.create({ OUTBOX_HEARTBEAT_TIMEOUT_MS: '2000', OUTBOX_OWN_QUEUE_TIMEOUT_MS: '1000' });
    const gate = await marksWait();
    const killed = await outbox.spawnWorker();
    const [id] = await enqueue(outbox.db, [event()]);
    await eventually(gate.isReached, undefined, 'a mark that waits');
    await killed.kill('SIGKILL');
    expect(await outbox.streamCounts()).toEqual(new Map([[id, 1]]));
    expect(await outbox.rowsByStatus()).toEqual({ processing: 1 });
    await gate.open();
    await outbox.db.query(`UPDATE :schema.event_queue SET claimed_at = claimed_at - interval '601 seconds'`);
    const next = await outbox.startWorker();
    await outbox.allDone();
    expect(await rows()).toMatchObject([{ attempts: 0, deferrals: 0 }]);
    expect(await outbox.streamCounts()).toEqual(new Map([[id, 1]]));
    expect(errors(next)).toEqual([]);
  });

  it("events over the server's limit are dead with size and limit in the reason, and all others go out on the same connection (C10)", async () => {
    const { proxy } = await behindProxy();
    await outbox.startWorker();
    await insertBySizes([1_048_576 - 4_096, 1_048_576, 1_500_000]);
    await eventually(async () => (await outbox.rowsByStatus()).done === 11);
    const dead = await eventually(async () => {
      const found = await rows(`WHERE status = 'dead_lettered'`);
      return found.length === 2 ? found : undefined;
    });
    expect(dead[0]!.reason).toMatch(/104[89]\d{3} bytes .*1048576/);
    expect(dead[1]!.reason).toMatch(/150\d{4} bytes .*1048576/);
    // Tried once: what can never be taken is not put back.
    expect(dead).toMatchObject(Array(2).fill({ attempts: 0, deferrals: 0 }));
    expect(await secondsOfSmallOnes()).toBeLessThan(SOON_S);
    // The first connection, and none after it.
    expect(proxy.connections).toBe(1);
    await enqueue(outbox.db, [event()]);
    await eventually(async () => (await outbox.rowsByStatus()).done === 12);
  });

  it("events over the stream's own limit are dead, and the connection stays (C10)", async () => {
    const { proxy } = await behindProxy();
    await makeStream({ max_msg_size: 10 * 1024 });
    await outbox.startWorker();
    await insertBySizes([1_048_576 - 4_096, 1_048_576, 1_500_000]);
    await eventually(async () => {
      const byStatus = await outbox.rowsByStatus();
      return byStatus.done === 10 && byStatus.dead_lettered === 3;
    });
    // The third is over both limits, and the server's is the one to name first.
    const dead = await rows(`WHERE status = 'dead_lettered'`);
    expect(dead.map(({ reason }) => /\d+ bytes .*(10240|1048576)/.test(reason))).toEqual([true, true, true]);
    expect(dead[0]!.reason).toMatch(/104\d{4} bytes .*10240/);
    expect(dead).toMatchObject(Array(3).fill({ attempts: 0, deferrals: 0 }));
    expect(await secondsOfSmallOnes()).toBeLessThan(SOON_S);
    expect(proxy.connections).toBe(1);
  });

  it('a full stream defers what it refuses, without a busy loop, and the rest goes out soon after room is made (C35)', async () => {
    // Shortened: a probe each 0.3 s instead of 5 s. The due time stays far away, so that only the probe can be what frees the rows.
    outbox = await TestOutbox.create({
      OUTBOX_PROBE_MS: LONG ? '5000' : '300',
      OUTBOX_BACKOFF_FIRST_MS: LONG ? '5000' : '600000',
      OUTBOX_BACKOFF_MAX_MS: '600000',
    });
    await makeStream({ max_msgs: 10, discard: 'new', allow_atomic: true });
    const wire = await listenOnWire(outbox.nats, `${prefix()}.>`);
    const ids = await enqueue(outbox.db, events(15));
    const started = performance.now();
    await outbox.startWorker();
    await eventually(async () => {
      const byStatus = await outbox.rowsByStatus();
      return byStatus.done === 10 && byStatus.deferred === 5;
    });
    // Several probes find it full still; over a minute in the long form.
    if (LONG) await eventually(() => performance.now() - started > 60_000, 70_000);
    else await eventually(() => wire.sent.length >= 15 + 4);
    const seconds = (performance.now() - started) / 1_000;
    expect(wire.sent.length).toBeLessThan(LONG ? 60 : 15 + 2 + seconds / 0.3);
    await eventually(async () => (await outbox.rowsByStatus()).deferred === 5);
    const refused = await rows(`WHERE status <> 'done'`);
    expect(refused.map(({ attempts }) => attempts)).toEqual([0, 0, 0, 0, 0]);
    expect(refused[0]!.reason).toContain('maximum messages exceeded');
    const first = (await outbox.messages()).map(({ eventId }) => eventId);

    await outbox.manager.streams.purge(stream());
    await outbox.allDone(LONG ? 320_000 : undefined);
    const second = (await outbox.messages()).map(({ eventId }) => eventId);
    expect([...first, ...second].sort()).toEqual([...ids].sort());
  }, 480_000);

  it('events of foreign writers that cannot be sent are dead with a reason, and the next ones go out', async () => {
    outbox = await TestOutbox.create();
    const types = ['a.b', 'a b', '*', '>', '', 'é', 'x'.repeat(129), 'a\nb', '$JS'];
    for (const type of types) await insert(`'thing', $1, '{}'::jsonb, NULL`, [type]);
    await insert(`'th.ing', 'ThingHappened', '{}'::jsonb, NULL`, []);
    for (const headers of [
      '[1]',
      '"text"',
      '{"a": 1}',
      '{"Nats-Msg-Id": "x"}',
      '{"outbox-version": "9"}',
      '{"a b": "x"}',
    ])
      await insert(`'thing', 'ThingHappened', '{}'::jsonb, $1::jsonb`, [headers]);
    await insert(`'thing', 'ThingHappened', '{}'::jsonb, '{"ok": "x"}'`, []);
    await outbox.startWorker();
    await eventually(async () => {
      const { dead_lettered, done, ...others } = await outbox.rowsByStatus();
      return dead_lettered === types.length + 7 && done === 1 && Object.keys(others).length === 0;
    });
    const dead = await rows(`WHERE status = 'dead_lettered'`);
    expect(dead.slice(0, types.length + 1).every(({ reason }) => reason.includes('no subject token'))).toBe(true);
    expect(dead.slice(types.length + 1).every(({ reason }) => /its header/.test(reason))).toBe(true);
    expect(await outbox.messages()).toHaveLength(1);
  });

  it('a backlog of which one event is in the stream already is stored once each, in order', async () => {
    outbox = await TestOutbox.create();
    await makeStream({ allow_atomic: true });
    const ids = await enqueue(outbox.db, events(200));
    await publishByHand(ids[100]!);
    await outbox.startWorker();
    await outbox.allDone();
    const others = ids.filter((_, index) => index !== 100);
    expect((await outbox.messages()).map(({ eventId }) => eventId)).toEqual([ids[100], ...others]);
  });

  it('a stream without atomic batches is published to one by one, in order, and left as it is', async () => {
    outbox = await TestOutbox.create();
    await makeStream({ allow_atomic: false });
    const ids = await enqueue(outbox.db, events(1_500));
    await outbox.startWorker();
    await outbox.allDone();
    expect((await outbox.messages()).map(({ eventId }) => eventId)).toEqual(ids);
    expect((await outbox.manager.streams.info(stream())).config.allow_atomic ?? false).toBe(false);
  });

  it('events of one aggregate arrive in order across many batches, while more are written', async () => {
    // Shortened: 50 rows a batch instead of 4,000, so that 1,200 events are at least 24 batches.
    outbox = await TestOutbox.create({ OUTBOX_BATCH_SIZE: '50' });
    const of = (from: number) => (index: number) => ({
      aggregateId: `${(from + index) % 3}`,
      payload: { n: from + index },
    });
    await enqueue(outbox.db, events(600, of(0)));
    await outbox.startWorker();
    for (let from = 600; from < 1_200; from += 20) await enqueue(outbox.db, events(20, of(from)));
    await outbox.allDone();
    const stored = (await outbox.messages()).map(({ body }) => (JSON.parse(body) as { n: number }).n);
    for (const aggregate of [0, 1, 2]) {
      const own = stored.filter((n) => n % 3 === aggregate);
      expect(own).toEqual(Array.from({ length: 400 }, (_, index) => index * 3 + aggregate));
    }
    await eventually(async () => (await outbox.status()).totals.passes >= 24);
  });

  it('the whole record can be rebuilt from a message', async () => {
    outbox = await TestOutbox.create();
    const whole = {
      eventId: '0b7d0c1e-6d1d-4d0c-9f59-3d9a8f4f2c11',
      aggregateId: ' Amélie 100% "ok"\r\nX: y 🎬 ',
      companyId: '11111111-2222-4333-8444-555555555555',
      orgUnitId: '66666666-7777-4888-9999-aaaaaaaaaaaa',
      correlationId: 'корреляция %41',
      causationId: 'c-1',
      version: 7,
      occurredAt: new Date('2026-01-02T03:04:05.678Z'),
      payload: { title: 'Amélie', n: 1.1, deep: [1, null, { a: '🎬' }] },
      headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'X-User': 'ä, b' },
    };
    await enqueue(outbox.db, [event(whole), event({ payload: null })]);
    await outbox.startWorker();
    await outbox.allDone();
    const [message, bare] = await outbox.messages();
    expect(message!.subject).toBe(`${prefix()}.thing.ThingHappened`);
    expect(JSON.parse(message!.body)).toEqual(whole.payload);
    const decoded = Object.fromEntries(
      Object.entries(message!.headers).map(([name, value]) => [name, decodeHeaderValue(value)]),
    );
    expect(decoded).toEqual({
      'Nats-Msg-Id': whole.eventId,
      'Outbox-Event-Type': 'ThingHappened',
      // It occurred long before it was written.
      'Outbox-Available-At': expect.stringMatching(/^20\d\d-.*Z$/) as string,
      'Outbox-Aggregate-Type': 'thing',
      'Outbox-Aggregate-Id': whole.aggregateId,
      'Outbox-Version': '7',
      'Outbox-Occurred-At': '2026-01-02T03:04:05.678000Z',
      'Outbox-Company-Id': whole.companyId,
      'Outbox-Org-Unit-Id': whole.orgUnitId,
      'Outbox-Correlation-Id': whole.correlationId,
      'Outbox-Causation-Id': whole.causationId,
      ...whole.headers,
      'ce-specversion': '1.0',
      'ce-id': whole.eventId,
      'ce-source': `/outbox/${outbox.db.schema}`,
      'ce-type': 'ThingHappened',
      'ce-time': '2026-01-02T03:04:05.678000Z',
      'ce-datacontenttype': 'application/json',
      // Without subject and partition key: no CloudEvent may hold a line break.
      'ce-correlationid': whole.correlationId,
      'ce-causationid': whole.causationId,
      'ce-traceparent': whole.headers?.traceparent,
    });
    expect(bare!.body).toBe('null');
    expect(Object.keys(bare!.headers)).not.toContain('Outbox-Company-Id');
  });

  it('a broker that answers nonsense defers the events it is asked to take, and only those', async () => {
    outbox = await TestOutbox.create({
      OUTBOX_BACKOFF_FIRST_MS: '600000',
      OUTBOX_PROBE_MS: '600000',
      OUTBOX_BACKOFF_MAX_MS: '600000',
    });
    await makeStream({ subjects: [`${prefix()}.thing.ThingHappened`] });
    const answers = [
      'no json',
      '',
      '{}',
      '[]',
      'null',
      '{"stream": 1, "seq": "x"}',
      '{"error": "no"}',
      '{"error": {"code": 1}}',
    ];
    for (const [index, answer] of answers.entries()) {
      outbox.nats.subscribe(`${prefix()}.thing.Odd${index}`, {
        callback: (_error, message) => void message.respond(answer),
      });
    }
    await outbox.nats.flush();
    const odd = await enqueue(
      outbox.db,
      answers.map((_, index) => event({ type: `Odd${index}` })),
    );
    const good = await enqueue(outbox.db, events(20));
    await outbox.startWorker();
    await eventually(async () => {
      const byStatus = await outbox.rowsByStatus();
      return byStatus.done === good.length && byStatus.deferred === odd.length;
    });
    const deferred = await rows(`WHERE status = 'deferred'`);
    expect(deferred.every(({ attempts, reason }) => attempts === 0 && reason.length > 0)).toBe(true);
    expect((await outbox.messages()).map(({ eventId }) => eventId)).toEqual(good);
  });

  it('an event whose subject nobody answers is deferred, and does not make the broker pass for away', async () => {
    // The backoff is long: were the broker held for away, the later events would wait it out.
    outbox = await TestOutbox.create({
      OUTBOX_BACKOFF_FIRST_MS: '600000',
      OUTBOX_BACKOFF_MAX_MS: '600000',
      OUTBOX_PROBE_MS: '600000',
    });
    await makeStream({ subjects: [`${prefix()}.thing.ThingHappened`] });
    outbox.nats.subscribe(`${prefix()}.thing.Silent`, { callback: () => undefined });
    await outbox.nats.flush();
    await outbox.startWorker();
    await enqueue(outbox.db, [event({ type: 'Silent' })]);
    await eventually(async () => {
      const [row] = await rows(`WHERE event_type = 'Silent'`);
      return row?.status === 'deferred' && row.attempts === 0 && row.reason.includes('did not answer in time');
    });
    await enqueue(outbox.db, events(3));
    await eventually(async () => (await outbox.rowsByStatus()).done === 3);
    expect((await outbox.status()).state).toBe('running');
  });

  function prefix(): string {
    return outbox.config().nats.subjectPrefix;
  }

  function stream(): string {
    return outbox.config().nats.stream;
  }

  function makeStream(config: Partial<Omit<StreamConfig, 'discard'>> & { discard?: 'old' | 'new' }) {
    return outbox.manager.streams.add({
      name: stream(),
      subjects: [`${prefix()}.>`],
      duplicate_window: nanos(3_600_000),
      ...(config as Partial<StreamConfig>),
    });
  }

  async function behindProxy(settings: Settings = {}): Promise<{ proxy: Proxy }> {
    const plain = await TestOutbox.create();
    const natsUrl = plain.config().nats.url;
    await plain.close();
    const proxy = await Proxy.to(natsUrl);
    outbox = await TestOutbox.create(settings);
    outbox.onClose(() => proxy.close());
    Object.assign(outbox.settings, { NATS_URL: proxy.url(natsUrl) });
    return { proxy };
  }

  async function publishByHand(eventId: string): Promise<void> {
    const headers = newHeaders();
    headers.set('Nats-Msg-Id', eventId);
    await jetstream(outbox.nats).publish(`${prefix()}.thing.ThingHappened`, '{}', { headers });
  }

  /** As a foreign writer does, past the checks of `enqueueEvents`. `values`: aggregate type, event type, payload, headers. */
  async function insert(values: string, parameters: unknown[]): Promise<void> {
    await outbox.db.query(
      `INSERT INTO :schema.event_queue (aggregate_id, aggregate_type, event_type, payload, headers) VALUES ('a', ${values})`,
      parameters,
    );
  }

  /** Rows with payloads of exactly these bytes, among ten small ones; all of one statement, so that one claim finds them. */
  async function insertBySizes(sizes: readonly number[]): Promise<void> {
    const all = Array.from({ length: 10 }, (_, index) => [null, sizes[index] ?? []].flat()).flat();
    await outbox.db.query(
      `INSERT INTO :schema.event_queue (aggregate_id, aggregate_type, event_type, payload)
       SELECT 'a', 'thing', 'ThingHappened', coalesce(to_jsonb(repeat('x', size - 2)), '{"n": 1}')
         FROM unnest($1::integer[]) WITH ORDINALITY AS given (size, at) ORDER BY at`,
      [all],
    );
  }

  /** From the first of the small rows that was written to the last that went out. */
  async function secondsOfSmallOnes(): Promise<number> {
    const { rows: found } = await outbox.db.query<{ count: number; seconds: number }>(
      `SELECT count(*)::integer, extract(epoch FROM max(published_at) - min(available_at))::float8 AS seconds
         FROM :schema.event_queue WHERE status = 'done' AND pg_column_size(payload) < 100`,
    );
    expect(found[0]!.count).toBe(10);
    return found[0]!.seconds;
  }

  /** Until it is opened, no row becomes done; what has waited there until then is ended, as with a worker that is gone. */
  async function marksWait() {
    const owner = ownerOf(outbox.db);
    await owner.query(`CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$`);
    await owner.query(`CREATE TRIGGER wait_at_gate BEFORE UPDATE ON :schema.event_queue
      FOR EACH ROW WHEN (NEW.status = 'done') EXECUTE FUNCTION wait_at_gate()`);
    const keeper = new Client({ connectionString: outbox.database.url });
    await keeper.connect();
    await keeper.query('SELECT pg_advisory_lock(1)');
    const waiting = 'FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))';
    return {
      isReached: async () => (await keeper.query(`SELECT ${waiting}`)).rows.length > 0,
      open: async () => {
        await keeper.query(`SELECT pg_terminate_backend(pid, 10000) ${waiting}`);
        await keeper.end();
      },
    };
  }

  async function rows(where = '') {
    const found = await outbox.db.query<{
      status: string;
      attempts: number;
      deferrals: number;
      waitMs: number;
      reason: string;
    }>(
      `SELECT status, attempts, deferrals, coalesce(failure_reason, '') AS reason,
              (extract(epoch FROM retry_at - available_at) * 1000)::float8 AS "waitMs"
         FROM :schema.event_queue ${where} ORDER BY id`,
    );
    return found.rows;
  }
});

function errors(worker: InProcessWorker): unknown[] {
  return worker.logs.filter(({ level }) => typeof level === 'number' && level >= 50);
}
