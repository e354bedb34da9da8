import { jetstream, RetentionPolicy } from '@nats-io/jetstream';
import { headers } from 'nats';
import { v5 as nameId } from 'uuid';
import { readHeaders } from '../../src/broker/readHeaders';
import { forgetHandler } from '../../src/deliveries/forgetHandler';
import { defineHandler } from '../../src/handlers/defineHandler';
import { overNats } from '../../src/reconcile/connect';
import { compare, reconcile, type ReconcileOptions } from '../../src/reconcile/reconcile';
import type { Reconciliation } from '../../src/reconcile/result';
import { emptyDatabase, ownerOf } from '../support/database';
import { insertDelivery, insertLedger, recordHandlers } from '../support/deliveries';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import '../support/printedRoles';
import { Proxy } from '../support/proxy';
import { runCli } from '../support/runCli';

/** How a handler of these tests is told what to do with an event. */
type Order = 'succeed' | 'fail' | 'wait';
const orderOf = (payload: unknown) => (payload as { order?: Order }).order ?? 'succeed';

/** Handlers `one` and `two`: what is to fail fails always, what is to wait waits for `release`. */
function handlersOf(gate: Promise<void>) {
  return ['one', 'two'].map((name) =>
    defineHandler({
      name,
      events: ['ThingHappened'],
      run: async ({ payload }) => {
        if (orderOf(payload) === 'fail') throw new Error('it is to fail');
        if (orderOf(payload) === 'wait') await gate;
      },
    }),
  );
}

const order = (given: Order) => event({ payload: { order: given } });
const NOTHING = { count: 0, shown: [] };
const IDLE = { pending: 0, scheduled: 0, deferred: 0, processing: 0, retrying: 0, deliveries: 0, handlings: 0 };
const faultsOf = ({ lost, doubled, unhandled }: Reconciliation) => ({ lost, doubled, unhandled });

async function databaseTime({ db }: TestOutbox): Promise<string> {
  const { rows } = await db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  return rows[0]!.now.toISOString();
}

function forget({ db }: TestOutbox, eventId: string, handler: string) {
  return db.query('DELETE FROM :schema.processed_events WHERE event_id = $1 AND handler = $2', [eventId, handler]);
}

describe('backend nats', () => {
  let outbox: TestOutbox;
  let since: string;
  let release: () => void;

  beforeAll(async () => {
    // The shortest duplicate window, so that a second copy of an event can be published at all.
    outbox = await TestOutbox.create({ OUTBOX_DUPLICATE_WINDOW_MS: '100', EVENT_QUEUE_MAX_ATTEMPTS: '3' });
    const gate = new Promise<void>((resolve) => (release = resolve));
    await outbox.startWorker({}, { handlers: handlersOf(gate) });
    // Long ago, so that the first events of these tests are judged.
    await recordHandlers(outbox.db, { one: ['ThingHappened'], two: ['ThingHappened'] });
  });
  afterAll(() => outbox.close());
  // What a test breaks stays broken; the next one looks at its own events only.
  beforeEach(async () => {
    since = await databaseTime(outbox);
  });

  const look = (options: ReconcileOptions = {}) => reconcile(outbox.config(), { since, ...options });
  const stream = () => outbox.config().nats.stream;
  const subject = () => `${outbox.config().nats.subjectPrefix}.thing.ThingHappened`;

  /** The first look by which nothing is under way. */
  const settled = () =>
    eventually(
      async () => {
        const found = await look();
        if (found.verdict === 'not settled') throw new Error(JSON.stringify(found));
        return found;
      },
      undefined,
      'a settled outbox',
    );
  const sequenceOf = async (eventId: string) =>
    (await outbox.messages()).find((message) => message.eventId === eventId)?.seq ?? 0;

  test('agrees when every event is in the stream once and each of its handlers is done', async () => {
    await enqueue(outbox.db, events(5));
    expect(await settled()).toEqual({
      verdict: 'agrees',
      backend: 'nats',
      schema: outbox.database.schema,
      stream: stream(),
      asOf: expect.any(String) as string,
      since,
      checked: { events: 5, messages: 5, handlings: 10 },
      lost: NOTHING,
      doubled: NOTHING,
      unhandled: NOTHING,
      dead: NOTHING,
      foreign: 0,
      underWay: IDLE,
      notJudged: { published: 0, handlings: 0 },
    });
  });

  test('names an event that was deleted from the stream as lost, also the oldest', async () => {
    const ids = await enqueue(outbox.db, events(4));
    await settled();
    const [first] = await outbox.messages();
    await outbox.manager.streams.deleteMessage(stream(), first!.seq);
    await outbox.manager.streams.deleteMessage(stream(), await sequenceOf(ids[2]!));
    const { verdict, lost, doubled, unhandled } = await look();
    expect({ verdict, lost, doubled, unhandled }).toEqual({
      verdict: 'faults',
      lost: {
        count: 1,
        shown: [{ eventId: ids[2], eventType: 'ThingHappened', publishedAt: expect.stringMatching(/Z$/) as string }],
      },
      doubled: NOTHING,
      unhandled: NOTHING,
    });
    const whole = await reconcile(outbox.config());
    expect(whole.lost.shown.map(({ eventId }) => eventId)).toEqual([first!.eventId, ids[2]]);
  });

  test('names an event that the stream holds again as doubled, by the sequence of the copy', async () => {
    const [id = ''] = await enqueue(outbox.db, [event(), event()]);
    await settled();
    const copy = await eventually(async () => {
      const ack = await jetstream(outbox.nats).publish(subject(), '{}', { msgID: id });
      return ack.duplicate ? undefined : ack;
    });
    const { verdict, lost, doubled, unhandled } = await look();
    expect({ verdict, lost, doubled, unhandled }).toEqual({
      verdict: 'faults',
      lost: NOTHING,
      doubled: { count: 1, shown: [{ eventId: id, eventType: 'ThingHappened', sequence: copy.seq }] },
      unhandled: NOTHING,
    });
  });

  test('names event and handler of a handling that the ledger does not know', async () => {
    const [id = ''] = await enqueue(outbox.db, events(3));
    await settled();
    await forget(outbox, id, 'two');
    expect(faultsOf(await look())).toEqual({
      lost: NOTHING,
      doubled: NOTHING,
      unhandled: { count: 1, shown: [{ eventId: id, eventType: 'ThingHappened', handler: 'two' }] },
    });
  });

  test('counts messages of other publishers, and wants them handled under the ids that handlers see', async () => {
    const { seq } = await jetstream(outbox.nats).publish(subject(), '{}');
    const named = headers();
    named.set('Nats-Msg-Id', 'order 7');
    await jetstream(outbox.nats).publish(subject(), '{}', { headers: named });
    expect(await settled()).toMatchObject({
      verdict: 'agrees',
      foreign: 2,
      checked: { events: 0, messages: 2, handlings: 4 },
    });
    const id = nameId(`${stream()}/${seq}`, '6d6f7669-6520-5469-8172-790a6f757462');
    await forget(outbox, id, 'one');
    expect(await look()).toMatchObject({
      verdict: 'faults',
      unhandled: { count: 1, shown: [{ eventId: id, handler: 'one' }] },
    });
  });

  test('is not settled while a handler is at work, and takes nothing of it for a fault', async () => {
    await enqueue(outbox.db, [order('wait'), event()]);
    const found = await eventually(async () => {
      const seen = await look();
      expect(faultsOf(seen)).toEqual({ lost: NOTHING, doubled: NOTHING, unhandled: NOTHING });
      const isDone = seen.checked.handlings === 4 && seen.checked.events === 2 && seen.underWay.processing === 0;
      return isDone ? seen : undefined;
    });
    expect(found).toMatchObject({ verdict: 'not settled', underWay: { ...IDLE, handlings: expect.any(Number) as number } }); // prettier-ignore
    expect(found.underWay.handlings).toBeGreaterThanOrEqual(2);
    release();
    expect((await settled()).verdict).toBe('agrees');
  });

  test('is not settled while deliveries wait, nor when they are dead, which it lists', async () => {
    const [id = ''] = await enqueue(outbox.db, [order('fail')]);
    await eventually(async () => {
      const { verdict, underWay, unhandled } = await look();
      expect(unhandled).toEqual(NOTHING);
      return underWay.deliveries > 0 && verdict === 'not settled';
    });
    const found = await eventually(async () => {
      const seen = await look();
      expect(seen.unhandled).toEqual(NOTHING);
      const isDead = seen.dead.count === 2 && seen.underWay.deliveries === 0 && seen.underWay.processing === 0;
      return isDead ? seen : undefined;
    });
    expect(found).toMatchObject({ verdict: 'not settled', underWay: IDLE });
    expect([...found.dead.shown].sort((a, b) => (a.handler! < b.handler! ? -1 : 1))).toEqual(
      ['one', 'two'].map((handler) => ({ eventId: id, eventType: 'ThingHappened', handler, reason: 'it is to fail' })), // prettier-ignore
    );
    await outbox.db.query('DELETE FROM :schema.deliveries');
  });

  test('finds no fault while events stream in', async () => {
    let enqueued = 0;
    const write = async () => {
      for (let batch = 0; batch < 3; batch++)
        enqueued += (
          await enqueue(
            outbox.db,
            events(20, (n) => ({ aggregateId: `${n % 7}` })),
          )
        ).length;
    };
    const looks: Reconciliation[] = [];
    for (let round = 0; round < 10; round++) {
      const [found] = await Promise.all([look(), write()]);
      looks.push(found);
    }
    expect(looks.map(faultsOf)).toEqual(looks.map(() => ({ lost: NOTHING, doubled: NOTHING, unhandled: NOTHING })));
    expect(await settled()).toMatchObject({ verdict: 'agrees', checked: { events: enqueued, messages: enqueued } });
  });

  test('compares more than one page of rows and of messages', async () => {
    // With those of the tests before, more rows than one statement reads.
    const ids = await enqueue(
      outbox.db,
      events(5_000, (n) => ({ aggregateId: `${n % 50}` })),
    );
    await eventually(async () => {
      const { rows } = await outbox.db.query<{ done: number }>(
        `SELECT count(*)::integer AS done FROM :schema.processed_events WHERE status = 'done' AND event_id = ANY ($1::uuid[])`,
        [ids],
      );
      if (rows[0]?.done !== 10_000) throw new Error(JSON.stringify(rows));
      return true;
    }, 120_000);
    expect(await settled()).toMatchObject({
      verdict: 'agrees',
      checked: { events: 5_000, messages: 5_000, handlings: 10_000 },
    });
    await outbox.manager.streams.deleteMessage(stream(), await sequenceOf(ids[4_500]!));
    await outbox.db.query(
      `DELETE FROM :schema.processed_events WHERE handler = 'one' AND event_id = ANY ($1::uuid[])`,
      [ids.slice(3_000, 3_005)],
    );
    const found = await look({ limit: 3 });
    expect(found.lost).toMatchObject({ count: 1, shown: [{ eventId: ids[4_500] }] });
    expect(found.unhandled.count).toBe(5);
    expect(found.unhandled.shown).toHaveLength(3);
  });

  test.each(['takeAway', 'silence'] as const)(
    'ends with a sentence when the broker goes away meanwhile (%s), instead of waiting for it',
    async (goAway) => {
      const proxy = await Proxy.to(outbox.settings.NATS_URL!);
      outbox.onClose(() => proxy.close());
      const { nats } = outbox.config({ NATS_URL: proxy.url(outbox.settings.NATS_URL!) });
      let pages = 0;
      const reading = overNats(nats, async (connection) => {
        for await (const page of readHeaders(connection, nats.stream, { from: undefined, upTo: Infinity })) {
          pages += Math.sign(page.length);
          proxy[goAway]();
        }
      });
      await expect(reading).rejects.toMatchObject({
        name: 'ReconcileError',
        kind: 'broker-away',
        message: expect.stringMatching(/NATS at .*: check that it runs, and NATS_URL\.$/) as string,
      });
      expect(pages).toBe(1);
    },
  );

  test('copies of what the handlers’ consumer is not given are other applications’ own affair', async () => {
    const { durable, subjectPrefix } = outbox.config().nats;
    const { config } = await outbox.manager.consumers.info(stream(), durable);
    const publishTwice = async (to: string, msgID: string) => {
      const copies = async () => (await jetstream(outbox.nats).publish(to, '{}', { msgID })).duplicate;
      await copies();
      await eventually(async () => !(await copies()));
    };
    await publishTwice(`${subjectPrefix}.other.Tick`, 'tick 1');
    expect(await settled()).toMatchObject({ foreign: 2, doubled: { count: 1 } });
    await outbox.manager.consumers.update(stream(), durable, { ...config, filter_subject: `${subjectPrefix}.thing.>` });
    expect(await look()).toMatchObject({ verdict: 'agrees', foreign: 2, doubled: NOTHING });
    await outbox.manager.consumers.update(stream(), durable, config);
  });

  test('leaves no consumer behind, and the durable as it was', async () => {
    const names = async () => {
      const found: string[] = [];
      for await (const { name } of outbox.manager.consumers.list(stream())) found.push(name);
      return found;
    };
    const before = await names();
    await look();
    expect(await names()).toEqual(before);
    const { num_redelivered, num_ack_pending } = await outbox.manager.consumers.info(stream(), outbox.config().nats.durable); // prettier-ignore
    expect({ num_redelivered, num_ack_pending }).toEqual({ num_redelivered: 0, num_ack_pending: 0 });
  });

  test('does not judge what the limits of the stream have dropped', async () => {
    const ids = await enqueue(outbox.db, events(8));
    await settled();
    const { config } = await outbox.manager.streams.info(stream());
    await outbox.manager.streams.update(stream(), { ...config, max_msgs: 3 });
    expect(await look()).toMatchObject({
      verdict: 'agrees',
      checked: { events: 8, messages: 3, handlings: 16 },
      lost: NOTHING,
      notJudged: { published: 5, handlings: 0 },
    });
    const held = (await outbox.messages()).map(({ eventId }) => eventId);
    const [dropped = ''] = ids.filter((id) => !held.includes(id));
    await forget(outbox, dropped, 'one');
    // Published a moment ago, so that a worker may have it in hand.
    expect(await look()).toMatchObject({ verdict: 'agrees', notJudged: { published: 5, handlings: 1 } });
    await outbox.manager.streams.update(stream(), { ...config, max_msgs: -1 });
  });
});

describe('backend nats without a worker', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create();
  });
  afterEach(() => outbox.close());

  test('what the handlers’ consumer has not been given yet is under way, and a due row too', async () => {
    const worker = await outbox.startWorker();
    await recordHandlers(outbox.db, { one: ['ThingHappened'] });
    await enqueue(outbox.db, events(3));
    await outbox.allDone();
    await worker.stop();
    await enqueue(outbox.db, [event(), event({ availableAt: new Date(Date.now() + 3_600_000) })]);
    expect(await reconcile(outbox.config())).toMatchObject({
      verdict: 'not settled',
      unhandled: NOTHING,
      underWay: { ...IDLE, pending: 1, scheduled: 1, handlings: 3 },
    });
  });

  test('without handlers, published is all that is asked for', async () => {
    const worker = await outbox.startWorker();
    await enqueue(outbox.db, events(3));
    await outbox.allDone();
    await worker.stop();
    expect(await reconcile(outbox.config())).toMatchObject({ verdict: 'agrees', checked: { events: 3, handlings: 0 } });
  });

  test('what was published before rows had event ids is not looked for in the stream', async () => {
    const worker = await outbox.startWorker();
    const [id = ''] = await enqueue(outbox.db, events(2));
    await outbox.allDone();
    await worker.stop();
    const stored = (await outbox.messages()).find(({ eventId }) => eventId === id);
    await outbox.manager.streams.deleteMessage(outbox.config().nats.stream, stored!.seq);
    expect(await reconcile(outbox.config())).toMatchObject({ verdict: 'faults', lost: { shown: [{ eventId: id }] } });
    await ownerOf(outbox.db).query(
      `UPDATE :schema.outbox_migrations SET applied_at = clock_timestamp() WHERE version = 2`,
    );
    expect(await reconcile(outbox.config())).toMatchObject({
      verdict: 'agrees',
      lost: NOTHING,
      notJudged: { published: 1 },
    });
  });

  test('says what JetStream refuses: a work queue has no consumer without acknowledgements', async () => {
    const { stream, subjectPrefix } = outbox.config().nats;
    await outbox.manager.streams.add({
      name: stream,
      subjects: [`${subjectPrefix}.>`],
      retention: RetentionPolicy.Workqueue,
    });
    await jetstream(outbox.nats).publish(`${subjectPrefix}.thing.ThingHappened`, '{}');
    await expect(reconcile(outbox.config())).rejects.toMatchObject({
      name: 'ReconcileError',
      kind: 'refused',
      message: expect.stringMatching(/^JetStream refused: .*a work-queue stream allows none/) as string,
    });
  });

  test('says what is missing, and what to do', async () => {
    await expect(reconcile(outbox.config())).rejects.toMatchObject({
      name: 'ReconcileError',
      kind: 'no-stream',
      message: expect.stringMatching(/^There is no stream S_.*start a worker.*OUTBOX_STREAM/) as string,
    });
    await expect(reconcile(outbox.config({ NATS_MODE: 'core' }))).rejects.toMatchObject({ kind: 'no-stream' });
    await expect(reconcile(outbox.config(), { since: '2026-07-01T08:30:00' })).rejects.toThrow(/with its zone/);
    await expect(reconcile(outbox.config(), { limit: 0 })).rejects.toThrow(/whole number from 1/);
    const { DATABASE_URL = '', OUTBOX_SCHEMA = '' } = outbox.settings;
    // `runCli` sends NATS to where nobody listens.
    expect(await runCli(['reconcile'], { DATABASE_URL, OUTBOX_SCHEMA })).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringMatching(/NATS at .*cannot be used.*: check that it runs, and NATS_URL\./) as string,
    });
    expect(await runCli(['reconcile'])).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/PostgreSQL at .* cannot be reached/) as string,
    });
    const empty = await emptyDatabase();
    outbox.onClose(() => empty.drop());
    expect(await runCli(['reconcile'], { DATABASE_URL: empty.url })).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/lacks the outbox tables.*run `outbox migrate`/) as string,
    });
    expect((await runCli(['reconcile', '--since', 'yesterday'])).code).toBe(2);
  });
});

describe('backend db', () => {
  let outbox: TestOutbox;
  beforeAll(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db' });
  });
  afterAll(() => outbox.close());
  beforeEach(async () => {
    await ownerOf(outbox.db).query('TRUNCATE :schema.event_queue, :schema.deliveries, :schema.processed_events');
    await recordHandlers(outbox.db, { one: ['ThingHappened'], two: ['ThingHappened'] });
  });

  const cli = (...args: string[]) => runCli(['reconcile', ...args], outbox.settings);

  /** Events that were done so long ago, each by these handlers. */
  async function done(count: number, hoursAgo: number, handlers: readonly string[]): Promise<string[]> {
    const ids = await enqueue(outbox.db, events(count));
    await outbox.db.query(
      `UPDATE :schema.event_queue SET status = 'done', available_at = clock_timestamp() - $2 * interval '1 hour',
              published_at = clock_timestamp() - $2 * interval '1 hour'
        WHERE event_id = ANY ($1::uuid[])`,
      [ids, hoursAgo],
    );
    for (const id of ids) for (const handler of handlers) await insertLedger(outbox.db, id, handler, 'done');
    await outbox.db.query(
      `UPDATE :schema.processed_events SET started_at = clock_timestamp() - $2 * interval '1 hour',
              processed_at = clock_timestamp() - $2 * interval '1 hour'
        WHERE event_id = ANY ($1::uuid[])`,
      [ids, hoursAgo],
    );
    return ids;
  }

  test('a real worker’s events agree; a missing ledger row is unhandled, and the exit code says so', async () => {
    const worker = await outbox.startWorker({}, { handlers: handlersOf(Promise.resolve()) });
    const [id = ''] = await enqueue(outbox.db, events(3));
    await outbox.allDone();
    await worker.stop();
    const { code, stdout, stderr } = await cli();
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Everything agrees.\n' });
    expect(stdout).toMatch(
      /^Reconcile {2}schema \w+, as of .*\n {2}compared +3 events, 6 handlings\n {2}unhandled +0\n/,
    );
    await forget(outbox, id, 'two');
    const faulty = await cli();
    expect(faulty).toMatchObject({
      code: 1,
      stderr: 'error: 1 handling missing. Look at one with `outbox show <event_id>`.\n',
    });
    expect(faulty.stdout).toMatch(new RegExp(`EVENT ID +TYPE +HANDLER\n${id} +ThingHappened +two\n$`));
    const json = JSON.parse((await cli('--json')).stdout) as Reconciliation;
    expect(json).toMatchObject({ verdict: 'faults', stream: null, unhandled: { shown: [{ eventId: id }] } });
  });

  test('what waits or is dead is not settled: exit code 3, and a sentence', async () => {
    const [id = ''] = await done(1, 1, ['one']);
    await insertDelivery(outbox.db, { eventId: id, handler: 'two', reason: 'no such host' });
    await enqueue(outbox.db, [event()]);
    const { code, stdout, stderr } = await cli();
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr:
        'error: No faults, but not settled yet: 1 under way, so run it again; 1 dead letter, to be handed back with `outbox reemit <id…>` or given up with `outbox skip`.\n',
    });
    expect(stdout).toMatch(new RegExp(`under way +1 pending\n[^]*\n${id} +ThingHappened +two +no such host\n$`));
  });

  test('a claim that is in progress, and a skip, are no faults', async () => {
    const [working = '', skipped = ''] = await done(2, 1, ['one']);
    await insertLedger(outbox.db, working, 'two', `clock_timestamp() + interval '1 hour'`);
    await insertDelivery(outbox.db, { eventId: skipped, handler: 'two', state: 'skipped' });
    expect(await reconcile(outbox.config())).toMatchObject({
      verdict: 'not settled',
      unhandled: NOTHING,
      underWay: { ...IDLE, handlings: 1 },
    });
  });

  const hoursAgo = (hours: number) => Date.now() - hours * 3_600_000;

  test('what became due before a handler was recorded for its type is not judged for it, whatever the ledger holds', async () => {
    await recordHandlers(outbox.db, { one: ['ThingHappened'], two: ['ThingHappened'] }, hoursAgo(8));
    await done(3, 48, []);
    expect(await reconcile(outbox.config())).toMatchObject({ verdict: 'agrees', notJudged: { handlings: 6 } });
    await done(1, 7, ['one', 'two']);
    const retried = await done(2, 10, ['one']);
    // The ledger row of a retry says nothing of the time at which the event was finished.
    await outbox.db.query(
      `UPDATE :schema.processed_events SET started_at = clock_timestamp(), processed_at = clock_timestamp()
        WHERE event_id = ANY ($1::uuid[])`,
      [retried],
    );
    const [missed] = await done(1, 6, ['one']);
    expect(await reconcile(outbox.config())).toMatchObject({
      verdict: 'faults',
      unhandled: { count: 1, shown: [{ eventId: missed, handler: 'two' }] },
      notJudged: { handlings: 8 },
    });
  });

  test('a handler of which nobody knows since when it is recorded is not judged', async () => {
    await done(2, 1, ['one']);
    await outbox.db.query(`UPDATE :schema.outbox_installation SET handlers_revision = handlers_revision + 1`);
    expect(await reconcile(outbox.config())).toMatchObject({
      verdict: 'agrees',
      unhandled: NOTHING,
      notJudged: { handlings: 2 },
    });
  });

  /** Over a database in which something happens before the first rows are read. */
  async function compareWhile(happens: () => Promise<unknown>): Promise<Reconciliation> {
    const { db } = outbox;
    let pending = true;
    const query: typeof db.query = async (text, ...rest) => {
      if (pending && text.includes('page AS MATERIALIZED')) {
        pending = false;
        await happens();
      }
      return db.query(text, ...rest);
    };
    return compare({ ...db, query }, outbox.config());
  }

  test.each(['waiting', 'dead'] as const)(
    'what fails after the first look is not settled: a delivery that is %s',
    async (state) => {
      const [id = ''] = await done(1, 1, ['one']);
      const found = await compareWhile(() => insertDelivery(outbox.db, { eventId: id, handler: 'two', state }));
      expect(found).toMatchObject({
        verdict: 'not settled',
        unhandled: NOTHING,
        dead: { count: state === 'dead' ? 1 : 0 },
        underWay: { ...IDLE, deliveries: state === 'waiting' ? 1 : 0 },
      });
    },
  );

  test('a handler that is forgotten meanwhile makes no faults, and the others do', async () => {
    const [id] = await done(1, 1, []);
    expect(await compareWhile(() => forgetHandler(outbox.db, 'two'))).toMatchObject({
      verdict: 'faults',
      unhandled: { count: 1, shown: [{ eventId: id, handler: 'one' }] },
      notJudged: { handlings: 1 },
    });
  });

  test('what the ledger may have forgotten is not judged', async () => {
    await done(2, 24 * 31, []);
    await done(1, 1, ['one', 'two']);
    expect(await reconcile(outbox.config())).toMatchObject({
      verdict: 'agrees',
      checked: { events: 3, handlings: 6 },
      notJudged: { published: 0, handlings: 4 },
    });
  });

  test('--since looks at younger events only, and --limit shortens the list and not the count', async () => {
    await done(1, 20, ['one', 'two']);
    await done(4, 10, ['one']);
    await done(4, 1, ['one']);
    const { code, stdout } = await cli('--since', new Date(hoursAgo(5)).toISOString(), '--limit', '2');
    expect(code).toBe(1);
    expect(stdout).toMatch(/compared +4 events, 8 handlings\n/);
    expect(stdout).toMatch(/unhandled +4\n[^]*\(the first 2 of 4\)\nEVENT ID.*\n.* two\n.* two\n$/);
  });
});
