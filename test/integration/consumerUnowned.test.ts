import { AckPolicy, jetstream, RetentionPolicy } from '@nats-io/jetstream';
import { nanos } from 'nats';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Advisories } from '../../src/consumer/advisories';
import { Graveyard } from '../../src/consumer/graveyard';
import { Holders } from '../../src/consumer/holders';
import { Inspector } from '../../src/consumer/inspector';
import type { JetStreamSource } from '../../src/consumer/jetstreamSource';
import { incomingEvent } from '../../src/consumer/message';
import { Unowned } from '../../src/consumer/unowned';
import { Metrics } from '../../src/telemetry/metrics';
import { event, enqueue } from '../support/events';
import { eventually } from '../support/eventually';
import { samplesOf, total } from '../support/metrics';
import { TestOutbox, type Settings } from '../support/outbox';
import { Receiver } from '../support/receiver';

const MAX = 2;
const MIB = 1024 * 1024;

describe('messages that the broker gives up', () => {
  let outbox: TestOutbox;
  let clock: number;

  beforeEach(async () => {
    clock = 0;
    outbox = await TestOutbox.create({ EVENT_QUEUE_MAX_ATTEMPTS: `${MAX}`, OUTBOX_ACK_WAIT_MS: '300' });
  });
  afterEach(() => outbox.close());

  describe('by looking', () => {
    it('what nobody owns in two looks becomes a dead letter, once, and is said once (C30)', async () => {
      const { unowned, receiver, metrics } = await open();
      const [id] = await publish(1);
      await exhaust(1);
      expect(await unowned.look()).toBe(0);
      await givenUp();
      clock += 1_000;
      expect(await unowned.look()).toBe(0);
      clock += 10_000;
      expect(await unowned.look()).toBe(1);
      expect(await deliveries()).toEqual([
        {
          eventId: id,
          handler: 'one',
          state: 'dead',
          attempts: MAX,
          reason: `delivered ${MAX} times without an outcome`,
          source: `${stream()}/1`,
          body: '{"n": 1}',
          type: 'ThingHappened',
        },
      ]);
      clock += 10_000;
      expect(await unowned.look()).toBe(0);
      const again = await open();
      await again.unowned.look();
      clock += 10_000;
      expect(await again.unowned.look()).toBe(0);
      expect(said(receiver)).toEqual([expect.objectContaining({ level: 50, eventId: id })]);
      expect(said(again.receiver)).toEqual([]);
      expect(total(samplesOf(metrics.meter.text()), 'outbox_handler_exhausted_total', { handler: 'one' })).toBe(1);
      // Still in the stream, for whoever wants to see it.
      expect((await outbox.messages()).map(({ eventId }) => eventId)).toEqual([id]);
    });

    it('an event of the outbox is not copied', async () => {
      const { unowned } = await open();
      const [id] = await enqueue(outbox.db, [event()]);
      await publish(1, id);
      await exhaust(1);
      expect(await twice(unowned)).toBe(1);
      expect(await deliveries()).toEqual([expect.objectContaining({ eventId: id, source: 'outbox', body: null })]);
    });

    it('leaves alone what is handled, at work, waiting, without handlers, or in hand', async () => {
      const { unowned, receiver } = await open();
      const [done, working, waiting, , inHand] = await publish(5);
      await publish(1, randomUUID(), 'Unknown');
      await exhaust(6);
      await ledger(done!, 'done');
      await ledger(working!, 'in_progress', 60);
      await outbox.db.query(
        `INSERT INTO :schema.deliveries (event_id, handler, next_at, source, event_type, aggregate_type, aggregate_id)
         VALUES ($1, 'one', clock_timestamp(), 'outbox', 'T', 'a', 'a')`,
        [waiting],
      );
      const held = jest.spyOn(
        receiver.source as { holds(sequence: number): boolean } & typeof receiver.source,
        'holds',
      );
      held.mockImplementation((sequence) => sequence === 5);
      expect(await twice(unowned)).toBe(1);
      expect((await deliveries()).filter(({ state }) => state === 'dead')).toHaveLength(1);
      expect((await deliveries()).map(({ eventId }) => eventId)).not.toContain(inHand);
    });

    it('takes over a claim that a lost worker left behind', async () => {
      const { unowned } = await open();
      const [id] = await publish(1);
      await exhaust(1);
      await ledger(id!, 'in_progress', -1);
      expect(await twice(unowned)).toBe(1);
      const { rows } = await outbox.db.query(`SELECT 1 FROM :schema.processed_events`);
      expect(rows).toEqual([]);
    });

    it('of two handlers, a new one does not make dead letters of events that the other has done', async () => {
      const { unowned } = await open(['one', 'new']);
      const [id] = await publish(1);
      await exhaust(1);
      await ledger(id!, 'done');
      expect(await twice(unowned)).toBe(0);
    });

    it('of two handlers that have done nothing, each has its dead letter and its line', async () => {
      const { unowned, receiver } = await open(['one', 'two']);
      const [id] = await publish(1);
      await exhaust(1);
      await twice(unowned);
      const about = { level: 50, eventId: id, eventType: 'ThingHappened', attempt: MAX };
      expect(said(receiver).sort((a, b) => String(a.handler).localeCompare(String(b.handler)))).toMatchObject([
        { ...about, handler: 'one' },
        { ...about, handler: 'two' },
      ]);
    });

    it('after max_deliver was lowered, what had more deliveries is found, and holds up the ack floor no longer', async () => {
      const { unowned } = await open();
      const { config } = await consumer();
      await outbox.manager.consumers.update(stream(), durable(), { ...config, max_deliver: 10 });
      await publish(2);
      await exhaust(1, 4, 'returned');
      await outbox.manager.consumers.update(stream(), durable(), { ...config, max_deliver: MAX });
      await sleep(400);
      expect(await twice(unowned)).toBeGreaterThanOrEqual(1);
      await eventually(async () => (await consumer()).ack_floor.stream_seq >= 1);
    });

    it('however large they are together, and however many handlers take them', async () => {
      const { graveyard, receiver, metrics } = await open(['one', 'two', 'three']);
      const data = Buffer.alloc(4 * MIB);
      const given = Array.from({ length: 6 }, (_, index) => {
        const [subject, sequence] = [`${prefix()}.thing.ThingHappened`, index + 1];
        const position = { stream: stream(), sequence, at: new Date() };
        return { subject, sequence, event: incomingEvent({ subject, data }, prefix(), position) };
      });
      const statements = jest.spyOn(outbox.db, 'query');
      // The last stands in the stream twice.
      const rows = await graveyard.bury([...given, { ...given[5]!, sequence: 7 }]);
      const sizes = statements.mock.calls.map(([, values]) => JSON.stringify(values).length);
      expect(Math.max(...sizes)).toBeLessThan(16 * MIB);
      expect(rows).toHaveLength(18);
      expect(said(receiver)).toHaveLength(18);
      expect(total(samplesOf(metrics.meter.text()), 'outbox_handler_exhausted_total')).toBe(18);
      const { rows: bytes } = await outbox.db.query(
        `SELECT count(*)::integer AS letters, min(length(body)) AS bytes FROM :schema.deliveries WHERE state = 'dead'`,
      );
      expect(bytes).toEqual([{ letters: 18, bytes: 4 * MIB }]);
    });

    it('looks at 1,000 at a time, and only at what the consumer is given', async () => {
      const { unowned } = await open();
      const { config } = await consumer();
      await outbox.manager.consumers.delete(stream(), durable());
      await outbox.manager.consumers.add(stream(), {
        ...config,
        filter_subject: `${prefix()}.thing.>`,
        max_ack_pending: 5_000,
      });
      await jetstream(outbox.nats).publish(`${prefix()}.other.ThingHappened`, '1');
      // Not all at once: on a busy machine the last would wait for their acknowledgement too long.
      for (let n = 0; n < 15; n++) await Promise.all(Array.from({ length: 100 }, () => publish(1)));
      await exhaust(1_500, 1);
      await unowned.look();
      clock += 10_000;
      expect(await unowned.look()).toBe(999);
      clock += 10_000;
      expect(await unowned.look()).toBe(501);
    });
  });

  describe('by advisories', () => {
    it('the server passes the ack floor over a message that it gives up: only the advisory tells (C30)', async () => {
      const { advisories, unowned, receiver } = await open();
      await advisories.look();
      const [id] = await publish(1);
      await exhaust(1);
      // Only now: another message could be given out before the first has come back.
      await publish(1);
      await finishRest();
      await givenUp();
      // With an acknowledgement that leaves nothing in hand.
      await publish(1);
      await finishRest();
      expect((await consumer()).ack_floor.stream_seq).toBe(3);
      expect(await twice(unowned)).toBe(0);
      await eventually(async () => (await advisories.look()) === 1, undefined, 'the advisory');
      expect(await advisories.look()).toBe(0);
      expect(await deliveries()).toEqual([expect.objectContaining({ eventId: id, state: 'dead', attempts: MAX })]);
      expect(said(receiver)).toHaveLength(1);
      const { config } = await outbox.manager.streams.info(`${stream()}_ADVISORIES`);
      expect(config).toMatchObject({ retention: 'limits', max_age: nanos(7 * 24 * 3_600_000) });
    });

    it('skips what is handled, waits for what is at work, and survives what is no advisory', async () => {
      const { advisories } = await open();
      await advisories.look();
      const [done, working] = await publish(2);
      await ledger(done!, 'done');
      await ledger(working!, 'in_progress', 60);
      await exhaust(2);
      const subject = `$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${stream()}.${durable()}`;
      for (const body of ['no json', '{}', '{"stream_seq": -1}', '{"stream_seq": 999}']) await capture(subject, body);
      await finishRest();
      const reader = `${durable()}-advisories`;
      await eventually(async () => {
        await advisories.look();
        const { num_pending: left, num_ack_pending: unread } = await outbox.manager.consumers.info(
          `${stream()}_ADVISORIES`,
          reader,
        );
        return left === 0 && unread === 1;
      });
      expect(await deliveries()).toEqual([]);
    });

    it('whatever keeps a look from comparing', async () => {
      const { receiver } = await open([], { OUTBOX_SWEEP_MS: '100' });
      const { config, logger, exhausted, broker } = receiver;
      const [id] = await publish(1);
      // Nothing can be compared with a consumer that is not there.
      await outbox.manager.consumers.delete(stream(), durable());
      const inspector = new Inspector({
        ...{ db: outbox.db, link: broker.link, config, logger, exhausted },
        ...{ source: receiver.source as JetStreamSource, handlersFor: () => ['one'] },
      });
      outbox.onClose(() => inspector.close());
      await inspector.start();
      await capture(
        `$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${stream()}.${durable()}`,
        JSON.stringify({ stream_seq: 1, deliveries: MAX }),
      );
      await eventually(async () => (await deliveries()).length === 1, undefined, 'its dead letter');
      expect(await deliveries()).toEqual([expect.objectContaining({ eventId: id, state: 'dead' })]);
    });

    it("uses an operator's capture stream as it is", async () => {
      const { advisories } = await open();
      await outbox.manager.streams.add({
        name: `OPS_${stream()}`,
        subjects: [`$JS.EVENT.ADVISORY.CONSUMER.*.${stream()}.>`],
        retention: RetentionPolicy.Limits,
        description: 'ops',
      });
      outbox.onClose(() => outbox.manager.streams.delete(`OPS_${stream()}`));
      const before = (await outbox.manager.streams.info(`OPS_${stream()}`)).config;
      await advisories.look();
      await publish(1);
      await exhaust(1);
      await finishRest();
      await eventually(async () => (await advisories.look()) === 1);
      expect((await outbox.manager.streams.info(`OPS_${stream()}`)).config).toEqual(before);
      await expect(outbox.manager.streams.info(`${stream()}_ADVISORIES`)).rejects.toThrow();
    });

    it('one stream serves the consumers of two schemas', async () => {
      const { advisories } = await open();
      const name = `${stream()}_ADVISORIES`;
      const other = `$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${stream()}.other`;
      await outbox.manager.streams.add({ name, subjects: [other] });
      await advisories.look();
      expect((await outbox.manager.streams.info(name)).config.subjects).toHaveLength(2);
    });

    it('when nothing can be captured, that is one warning and no failure', async () => {
      const { advisories, receiver } = await open();
      // A work queue with a reader of everything takes no second one.
      const name = `OPS_${stream()}`;
      await outbox.manager.streams.add({
        name,
        subjects: [`$JS.EVENT.ADVISORY.CONSUMER.*.${stream()}.>`],
        retention: RetentionPolicy.Workqueue,
      });
      outbox.onClose(() => outbox.manager.streams.delete(name));
      await outbox.manager.consumers.add(name, { durable_name: 'all', ack_policy: AckPolicy.Explicit });
      expect(await advisories.look()).toBe(0);
      expect(await advisories.look()).toBe(0);
      expect(receiver.logs.filter(({ msg }) => msg.includes('cannot be captured'))).toHaveLength(1);
    });
  });

  const stream = () => outbox.config().nats.stream;
  const durable = () => outbox.config().nats.durable;
  const prefix = () => outbox.config().nats.subjectPrefix;
  const consumer = () => outbox.manager.consumers.info(stream(), durable());
  const said = ({ logs }: Receiver) => logs.filter(({ msg }) => msg === 'event exhausted max deliveries');

  async function open(handlers = ['one'], settings: Settings = {}) {
    const receiver = await Receiver.open(outbox, settings);
    outbox.onClose(() => outbox.manager.streams.delete(`${stream()}_ADVISORIES`).catch(() => undefined));
    const { config, logger, exhausted, broker } = receiver;
    const { link } = broker;
    const handlersFor = (type: string) => (type === 'Unknown' ? [] : handlers);
    const metrics = new Metrics(config);
    const graveyard = new Graveyard({ db: outbox.db, link, config, logger, metrics, exhausted, handlersFor });
    const source = receiver.source as typeof receiver.source & { holds(sequence: number): boolean };
    const holders = new Holders(link, config.nats, (sequence) => source.holds(sequence), 300);
    const unowned = new Unowned({
      ...{ db: outbox.db, link, config, graveyard, handlersFor, holders },
      clock: () => clock,
    });
    const advisories = new Advisories({ link, config, logger, graveyard, holders });
    return { receiver, metrics, graveyard, unowned, advisories };
  }

  async function publish(count: number, id?: string, type = 'ThingHappened'): Promise<string[]> {
    const ids = Array.from({ length: count }, () => id ?? randomUUID());
    for (const msgID of ids) await jetstream(outbox.nats).publish(`${prefix()}.thing.${type}`, '{"n": 1}', { msgID });
    return ids;
  }

  /**
   * Takes the first messages `times` and gives them back, but for the last time: as when the worker dies in the last
   * delivery, no final `nak` is ever sent, and only `ack_wait` ends it (C30). `returned`: the last time as well.
   */
  async function exhaust(count: number, times = MAX, last?: 'returned'): Promise<void> {
    const reader = await jetstream(outbox.nats).consumers.get(stream(), durable());
    for (let time = 1; time <= times; time++) {
      const messages = await reader.fetch({ max_messages: count, expires: 30_000 });
      for await (const message of messages) if (time < times || last) message.nak();
    }
    await outbox.nats.flush();
  }

  /** Pulls, gets nothing, and the last delivery of all has run out: the server has given up whatever it had given out. */
  async function givenUp(): Promise<void> {
    const reader = await jetstream(outbox.nats).consumers.get(stream(), durable());
    await eventually(async () => {
      for await (const { seq } of await reader.fetch({ max_messages: 100, expires: 1_000 }))
        throw new Error(`message ${seq} was delivered once more`);
      return (await consumer()).num_ack_pending === 0;
    });
  }

  /** Acknowledges all else: each pull makes the server notice what is over its limit. */
  async function finishRest(): Promise<void> {
    const reader = await jetstream(outbox.nats).consumers.get(stream(), durable());
    const messages = await reader.fetch({ max_messages: 100, expires: 1_000 });
    for await (const message of messages) await message.ackAck();
  }

  async function twice(unowned: Unowned): Promise<number> {
    const first = await unowned.look();
    clock += 10_000;
    return first + (await unowned.look());
  }

  async function ledger(id: string, status: string, leaseSeconds: number | null = null): Promise<void> {
    await outbox.db.query(
      `INSERT INTO :schema.processed_events (event_id, handler, status, lease_until, processed_at)
       VALUES ($1, 'one', $2, clock_timestamp() + $3::float8 * interval '1 second', CASE WHEN $2 = 'done' THEN now() END)`,
      [id, status, leaseSeconds],
    );
  }

  async function capture(subject: string, body: string): Promise<void> {
    await jetstream(outbox.nats).publish(subject, body);
  }

  async function deliveries() {
    const { rows } = await outbox.db.query<{ eventId: string; state: string; [column: string]: unknown }>(
      `SELECT event_id AS "eventId", handler, state, attempts, failure_reason AS reason, source,
              convert_from(body, 'UTF8') AS body, event_type AS type
         FROM :schema.deliveries ORDER BY event_id, handler`,
    );
    return rows;
  }
});
