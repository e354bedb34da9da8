import { jetstream } from '@nats-io/jetstream';
import { setTimeout as sleep } from 'node:timers/promises';
import { HANDLED, handledAfter } from '../support/fakeIntake';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { OwnServers } from '../support/ownServers';
import { Proxy } from '../support/proxy';
import { Receiver } from '../support/receiver';

describe('receiving from a stream', () => {
  let outbox: TestOutbox;

  beforeEach(async () => {
    outbox = await TestOutbox.create({ OUTBOX_LONG_POLL_MS: '3000' });
  });
  afterEach(() => outbox.close());

  it('acknowledges an outcome that comes after the receive has ended, and counts it in the next', async () => {
    const receiver = await Receiver.open(outbox);
    const gate = gated(receiver);
    await publish(3);
    const first = await receiver.receive();
    expect(first).toMatchObject({ kind: 'received', reason: null, unsettled: [] });
    expect(first.counts).toEqual({ received: 3, handled: 0, handedOver: 0, returned: 0 });
    expect((await consumer()).ack_floor.stream_seq).toBe(0);
    gate.open();
    await eventually(async () => (await consumer()).ack_floor.stream_seq === 3);
    expect((await receiver.receive()).counts).toEqual({ received: 0, handled: 3, handedOver: 0, returned: 0 });
    expect(receiver.intake.got).toHaveLength(3);
  });

  it('acknowledges what was handed over', async () => {
    const receiver = await Receiver.open(outbox);
    receiver.intake.settleWith = () => ({ kind: 'handed over' });
    await publish(2);
    expect((await receiver.receive()).counts).toEqual({ received: 2, handled: 0, handedOver: 2, returned: 0 });
    await eventually(async () => (await consumer()).ack_floor.stream_seq === 2);
  });

  it('a handler slower than ack_wait is not run again, and what is behind it goes to another worker (C19)', async () => {
    // Not shorter: the broker is told of a message in hand three times in it, and a busy machine is late with that.
    const settings = { OUTBOX_ACK_WAIT_MS: '5000' };
    const workers = [await Receiver.open(outbox, settings), await Receiver.open(outbox, settings)];
    for (const { intake } of workers) {
      intake.capacity = 2;
      intake.settleWith = (event) => sleep(event.eventType === 'Long' ? 7_000 : 400, HANDLED);
    }
    await publish(1, 'Long');
    await publish(10);
    const ends = workers.map((worker) => worker.keepReceiving());
    await eventually(async () => (await consumer()).ack_floor.stream_seq === 11);
    for (const end of ends) await end();
    const counts = workers.map(({ intake }) => intake.got.length);
    expect(counts[0]! + counts[1]!).toBe(11);
    expect(Math.min(...counts)).toBeGreaterThan(1);
    expect((await consumer()).num_redelivered).toBe(0);
    expect((await consumer()).delivered.consumer_seq).toBe(11);
  });

  it('takes no more than there is room for, and nothing when there is none', async () => {
    const receiver = await Receiver.open(outbox);
    receiver.intake.capacity = 3;
    receiver.intake.settleWith = handledAfter(60_000);
    await publish(20);
    await receiver.receive();
    expect(receiver.intake.got).toHaveLength(3);
    receiver.intake.capacity = 0;
    expect(await receiver.receive()).toMatchObject({ kind: 'received', counts: { received: 0 } });
    const { num_waiting: waiting, num_ack_pending: inHand } = await consumer();
    expect([waiting, inHand]).toEqual([0, 3]);
  });

  it('stops pulling at once when PostgreSQL goes away in the middle of a receive', async () => {
    const receiver = await Receiver.open(outbox);
    const receiving = receiver.receive();
    await eventually(async () => (await consumer()).num_waiting > 0);
    receiver.intake.capacity = 0;
    await eventually(async () => (await consumer()).num_waiting === 0);
    await publish(5);
    expect((await receiving).counts.received).toBe(0);
    receiver.intake.capacity = 10;
    expect((await receiver.receive()).counts.received).toBe(5);
  });

  it('what is returned comes again on the schedule, and the last time is said once (C31)', async () => {
    const receiver = await Receiver.open(outbox, {
      OUTBOX_BACKOFF_FIRST_MS: '400',
      OUTBOX_BACKOFF_MAX_MS: '1000',
      EVENT_QUEUE_MAX_ATTEMPTS: '4',
    });
    const reason = 'the ledger cannot be read';
    receiver.intake.settleWith = () => ({ kind: 'returned', reason, handlers: ['bill', 'mail'] });
    const sent: string[] = [];
    outbox.nats.subscribe(`$JS.ACK.${stream()}.>`, { callback: (_error, message) => void sent.push(message.string()) });
    await outbox.nats.flush();
    const [id] = await publish(1);
    const end = receiver.keepReceiving();
    await eventually(() => receiver.intake.got.length === 4);
    await sleep(1_500);
    await end();
    // Never early; how late is the machine's affair, and what the broker was asked for is what it was sent.
    expect(receiver.intake.ids).toEqual([id, id, id, id]);
    const gaps = receiver.intake.got.slice(1).map(({ at }, index) => at - receiver.intake.got[index]!.at);
    for (const [index, wanted] of [400, 800, 1_000].entries()) expect(gaps[index]).toBeGreaterThan(wanted - 50);
    expect(sent).toEqual([400, 800, 1_000, 1_000].map((ms) => `-NAK {"delay": ${ms}000000}`));
    const said = receiver.logs.filter(({ msg }) => msg === 'event exhausted max deliveries');
    expect(said).toEqual([
      expect.objectContaining({ level: 50, eventId: id, handler: 'bill', attempt: 4, reason }),
      expect.objectContaining({ level: 50, eventId: id, handler: 'mail', attempt: 4, reason }),
    ]);
  });

  it('a worker that stops gives back at once what it had, and takes nothing more', async () => {
    // Long waits: what comes was given back, and at once.
    const settings = {
      OUTBOX_ACK_WAIT_MS: '600000',
      OUTBOX_BACKOFF_FIRST_MS: '600000',
      OUTBOX_BACKOFF_MAX_MS: '600000',
    };
    const [one, two] = [await Receiver.open(outbox, settings), await Receiver.open(outbox, settings)];
    let giveBack = (): void => undefined;
    const stopped = new Promise<void>((resolve) => (giveBack = resolve));
    one.intake.settleWith = () => stopped.then(() => ({ kind: 'returned', reason: 'the worker stops' }));
    await publish(5);
    const receiving = one.receive();
    await eventually(() => one.intake.got.length === 5);
    one.stopping.abort();
    giveBack();
    expect((await receiving).kind).toBe('left');
    expect((await one.receive()).kind).toBe('left');
    const end = two.keepReceiving();
    await eventually(() => two.intake.got.length === 5);
    await end();
  });

  it('a receive that is ended loses nothing that is under way: no message waits for ack_wait', async () => {
    const receiver = await Receiver.open(outbox, { OUTBOX_ACK_WAIT_MS: '600000' });
    const publishing = publish(1_000);
    let published = false;
    void publishing.finally(() => (published = true));
    while (!published) {
      const end = new AbortController();
      setTimeout(() => end.abort(), 10);
      await receiver.receive(end.signal);
    }
    const end = receiver.keepReceiving();
    await eventually(async () => (await consumer()).ack_floor.stream_seq === 1_000);
    await end();
    expect((await consumer()).num_redelivered).toBe(0);
    expect(receiver.intake.ids).toEqual(await publishing);
  });

  it('what a stopping worker still has in hand is given back when it closes', async () => {
    const [one, two] = [await Receiver.open(outbox), await Receiver.open(outbox)];
    one.intake.settleWith = handledAfter(60_000);
    await publish(2);
    await one.receive();
    await one.source.close();
    await two.receive();
    expect(two.intake.got).toHaveLength(2);
  });

  it('an outcome that comes while the connection is cut is acknowledged by another worker', async () => {
    const proxy = await Proxy.to(outbox.config().nats.url);
    outbox.onClose(() => proxy.close());
    const cut = await Receiver.open(outbox, { NATS_URL: proxy.url(outbox.config().nats.url) });
    const other = await Receiver.open(outbox);
    const gate = gated(cut);
    await publish(3);
    const receiving = cut.receive();
    await eventually(() => cut.intake.got.length === 3);
    proxy.takeAway();
    const result = await receiving;
    expect(result).toMatchObject({ kind: 'away', reason: expect.stringContaining('was lost') as string });
    gate.open();
    await eventually(() => cut.intake.inHand === 0);
    await sleep(100);
    const { unsettled, counts } = await cut.receive();
    expect([...result.unsettled, ...unsettled]).toHaveLength(3);
    expect(result.counts.handled + counts.handled).toBe(3);
    expect((await consumer()).ack_floor.stream_seq).toBe(0);
    await other.source.acknowledge([...unsettled, 'no reply subject', `$JS.API.STREAM.DELETE.${stream()}`]);
    await eventually(async () => (await consumer()).ack_floor.stream_seq === 3);
    await expect(cut.source.acknowledge(unsettled)).rejects.toThrow('was lost');
    expect((await outbox.messages()).length).toBe(3);
  });

  it('is connected again before anybody asked: acknowledges by itself', async () => {
    const proxy = await Proxy.to(outbox.config().nats.url);
    outbox.onClose(() => proxy.close());
    const cut = await Receiver.open(outbox, { NATS_URL: proxy.url(outbox.config().nats.url) });
    const gate = gated(cut);
    await publish(3);
    const receiving = cut.receive();
    await eventually(() => cut.intake.got.length === 3);
    proxy.takeAway();
    await receiving;
    gate.open();
    await eventually(() => cut.intake.inHand === 0);
    proxy.giveBack();
    await eventually(async () => (await consumer()).ack_floor.stream_seq === 3);
    expect((await cut.receive()).unsettled).toEqual([]);
  });

  it('a message that is delivered again while it is in hand is handled once', async () => {
    const proxy = await Proxy.to(outbox.config().nats.url);
    outbox.onClose(() => proxy.close());
    const settings = { NATS_URL: proxy.url(outbox.config().nats.url), OUTBOX_ACK_WAIT_MS: '500' };
    const receiver = await Receiver.open(outbox, settings);
    const gate = gated(receiver);
    await publish(1);
    const receiving = receiver.receive();
    await eventually(() => receiver.intake.got.length === 1);
    proxy.takeAway();
    await receiving;
    await sleep(700);
    proxy.giveBack();
    await eventually(() => receiver.broker.up);
    await receiver.receive();
    expect((await consumer()).num_redelivered).toBe(1);
    gate.open();
    await eventually(async () => (await consumer()).ack_floor.stream_seq === 1);
    expect(receiver.intake.got).toHaveLength(1);
  });

  it('takes what foreign publishers send', async () => {
    const receiver = await Receiver.open(outbox);
    const { subjectPrefix } = outbox.config().nats;
    const js = jetstream(outbox.nats);
    for (const subject of ['', '.thing.Happened', '.a.b.c.d', '.ü.ä'])
      await js.publish(`${subjectPrefix}${subject || '.x'}`, 'no json');
    await receiver.receive();
    expect(receiver.intake.got).toHaveLength(4);
    await eventually(async () => (await consumer()).ack_floor.stream_seq === 4);
  });

  it('says why when there is no consumer, or it is deleted meanwhile', async () => {
    const receiver = await Receiver.open(outbox, { OUTBOX_LONG_POLL_MS: '60000' });
    const receiving = receiver.receive();
    await eventually(async () => (await consumer()).num_waiting > 0);
    await outbox.manager.consumers.delete(stream(), durable());
    expect(await receiving).toMatchObject({ kind: 'away', reason: expect.stringContaining('was deleted') as string });
    expect(await receiver.receive()).toMatchObject({
      kind: 'away',
      reason: expect.stringContaining(`no consumer ${durable()}`) as string,
    });
    await outbox.manager.streams.delete(stream());
    expect((await receiver.receive()).kind).toBe('away');
  });

  it('obeys limits that an operator set on the consumer', async () => {
    const receiver = await Receiver.open(outbox);
    const { config } = await consumer();
    await outbox.manager.consumers.update(stream(), durable(), { ...config, max_batch: 2, max_expires: 1_000_000_000 });
    const ids = await publish(7);
    const end = receiver.keepReceiving();
    await eventually(() => receiver.intake.got.length === 7);
    await end();
    expect(receiver.intake.ids).toEqual(ids);
  });

  it('a server that answers nothing is away, within seconds', async () => {
    const own = new OwnServers();
    outbox.onClose(() => own.close());
    const nats = await own.nats();
    const receiver = await Receiver.open(outbox, { NATS_URL: nats.url, OUTBOX_LONG_POLL_MS: '600000' });
    const receiving = receiver.receive();
    await sleep(500);
    await nats.kill('SIGSTOP');
    try {
      const began = performance.now();
      expect((await receiving).kind).toBe('away');
      // It may be silent for 12 s at most; its long poll would be ten minutes.
      expect(performance.now() - began).toBeLessThan(45_000);
      expect((await receiver.receive()).kind).toBe('away');
    } finally {
      await nats.kill('SIGCONT');
    }
    await eventually(() => receiver.broker.up);
  });

  const stream = () => outbox.config().nats.stream;
  const durable = () => outbox.config().nats.durable;
  const consumer = () => outbox.manager.consumers.info(stream(), durable());

  /** Its intake settles nothing until the gate is opened. */
  function gated({ intake }: Receiver): { open: () => void } {
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    intake.settleWith = () => opened.then(() => HANDLED);
    return { open };
  }

  async function publish(count: number, type = 'ThingHappened'): Promise<string[]> {
    const ids = Array.from({ length: count }, () => crypto.randomUUID() as string);
    const { subjectPrefix } = outbox.config().nats;
    for (const msgID of ids) await jetstream(outbox.nats).publish(`${subjectPrefix}.thing.${type}`, '{}', { msgID });
    return ids;
  }
});
