import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandler } from '../../src/handlers/defineHandler';
import { enqueue, event, events } from '../support/events';
import { countDone } from '../support/handled';
import { ledgerOf } from '../support/deliveries';
import { handledAfter } from '../support/fakeIntake';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { Proxy } from '../support/proxy';
import { Receiver } from '../support/receiver';

describe('receiving from core NATS', () => {
  let outbox: TestOutbox;

  beforeEach(async () => {
    outbox = await TestOutbox.create({ NATS_MODE: 'core', OUTBOX_LONG_POLL_MS: '1500' });
  });
  afterEach(() => outbox.close());

  it('shares the messages among the workers, each once', async () => {
    const workers = [await Receiver.open(outbox), await Receiver.open(outbox)];
    const ends = workers.map((worker) => worker.keepReceiving());
    for (const worker of workers) await subscribed(worker);
    await publish(100);
    const got = () => workers.map(({ intake }) => intake.got.length);
    await eventually(() => got()[0]! + got()[1]! === 100);
    expect(Math.min(...got())).toBeGreaterThan(10);
    const results = (await Promise.all(ends.map((end) => end()))).flat();
    expect(results.reduce((sum, { counts }) => sum + counts.handled, 0)).toBe(100);
    expect(results.flatMap(({ unsettled }) => unsettled)).toEqual([]);
  });

  it('keeps what comes between two receives and without room, in order, and hands it in as room allows', async () => {
    const receiver = await Receiver.open(outbox);
    receiver.intake.capacity = 2;
    receiver.intake.settleWith = handledAfter(20);
    await receiver.receive();
    await publish(10);
    await sleep(300);
    expect(receiver.intake.got).toHaveLength(0);
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, receiver.intake.inHand)), 1);
    const end = receiver.keepReceiving();
    await eventually(() => receiver.intake.got.length === 10);
    await end();
    clearInterval(watch);
    expect(receiver.intake.got.map(({ event }) => event.payload)).toEqual(
      Array.from({ length: 10 }, (_, index) => `${index}`),
    );
    expect(most).toBeLessThanOrEqual(2);
  });

  it('what is returned is handed in again on the schedule; the last time is said once', async () => {
    const receiver = await Receiver.open(outbox, { EVENT_QUEUE_MAX_ATTEMPTS: '2', OUTBOX_BACKOFF_FIRST_MS: '300' });
    const reason = 'the ledger cannot be read';
    receiver.intake.settleWith = () => ({ kind: 'returned', reason, handlers: ['bill', 'mail'] });
    const end = receiver.keepReceiving();
    await subscribed(receiver);
    await publish(1);
    const said = () => receiver.logs.filter(({ msg }) => msg === 'event exhausted max deliveries');
    await eventually(() => said().length > 0);
    await end();
    const [eventId] = receiver.intake.ids;
    const about = { level: 50, eventId, eventType: 'ThingHappened', attempt: 2, reason };
    expect(said()).toMatchObject([
      { ...about, handler: 'bill' },
      { ...about, handler: 'mail' },
    ]);
    expect(receiver.intake.ids).toEqual([receiver.intake.ids[0], receiver.intake.ids[0]]);
    expect(receiver.intake.got[1]!.at - receiver.intake.got[0]!.at).toBeGreaterThan(250);
  });

  it('an event that is interrupted by the stop, and those that waited, are lost, and the log says so', async () => {
    const receiver = await Receiver.open(outbox);
    receiver.intake.capacity = 1;
    let giveBack = (): void => undefined;
    const stopped = new Promise<void>((resolve) => (giveBack = resolve));
    receiver.intake.settleWith = () =>
      stopped.then(() => ({ kind: 'returned', reason: 'the worker stops', handlers: ['mail'] }));
    const receiving = receiver.receive();
    await subscribed(receiver);
    await publish(3);
    await eventually(() => receiver.intake.inHand === 1);
    receiver.stopping.abort();
    giveBack();
    expect((await receiving).kind).toBe('left');
    await eventually(() => receiver.intake.inHand === 0);
    await receiver.source.close();
    const said = receiver.logs.filter(({ level }) => level === 40).map(({ msg }) => msg);
    expect(said.filter((msg) => msg.endsWith(': lost'))).toHaveLength(2);
    const [eventId] = receiver.intake.ids;
    expect(receiver.logs.filter((line) => 'eventId' in line)).toMatchObject([
      { level: 40, eventId, eventType: 'ThingHappened', handler: 'mail', attempt: 1, reason: 'the worker stops' },
    ]);
  });

  it('what waits for its next try when the worker ends is lost as well, and counted', async () => {
    const receiver = await Receiver.open(outbox, { OUTBOX_BACKOFF_FIRST_MS: '60000', OUTBOX_BACKOFF_MAX_MS: '60000' });
    receiver.intake.settleWith = () => ({ kind: 'returned', reason: 'PostgreSQL is away', handlers: ['mail'] });
    const end = receiver.keepReceiving();
    await subscribed(receiver);
    await publish(2);
    await eventually(() => receiver.intake.got.length === 2 && receiver.intake.inHand === 0);
    await end();
    await publish(1);
    await receiver.broker.link.flush();
    receiver.stopping.abort();
    await receiver.source.close();
    expect(receiver.logs.filter(({ msg }) => msg.endsWith(': lost'))).toMatchObject([{ level: 40, events: 3 }]);
  });

  it('hears again after the connection was lost', async () => {
    const proxy = await Proxy.to(outbox.config().nats.url);
    outbox.onClose(() => proxy.close());
    const settings = { NATS_URL: proxy.url(outbox.config().nats.url), OUTBOX_LONG_POLL_MS: '60000' };
    const receiver = await Receiver.open(outbox, settings);
    const receiving = receiver.receive();
    await subscribed(receiver);
    proxy.takeAway();
    expect(await receiving).toMatchObject({ kind: 'away', reason: expect.stringContaining('was lost') as string });
    proxy.giveBack();
    await eventually(() => receiver.broker.up);
    const end = receiver.keepReceiving();
    await publish(1);
    await eventually(() => receiver.intake.got.length === 1);
    await end();
  });

  it('a worker with handlers handles each event once, records it in the ledger, and retries what failed', async () => {
    const entries = new Map<string, number>();
    const handler = defineHandler({
      name: 'mail',
      events: ['ThingHappened'],
      run: ({ eventId, payload }, { attempt }) => {
        entries.set(eventId, (entries.get(eventId) ?? 0) + 1);
        if ((payload as { fails?: boolean }).fails && attempt === 1) throw new Error('not yet');
      },
    });
    await outbox.startWorker({}, { handlers: [handler] });
    // What is published before the first receive is nobody's.
    let lost = 0;
    await eventually(async () => {
      lost++;
      await enqueue(outbox.db, [event()]);
      await outbox.allDone();
      return (await countDone(outbox.db, 'mail')) > 0;
    });
    expect(await countDone(outbox.db, 'mail')).toBeLessThanOrEqual(lost);
    const ids = await enqueue(
      outbox.db,
      events(50, (n) => ({ aggregateId: `a${n}`, payload: { fails: n % 10 === 0 } })),
    );
    // By their ids: some of those before may be at work still.
    await eventually(async () => {
      const said = await Promise.all(ids.map((id) => ledgerOf(outbox.db, id)));
      return said.every((status) => status === 'done');
    });
    expect(ids.map((id) => entries.get(id))).toEqual(ids.map((_, n) => (n % 10 === 0 ? 2 : 1)));
  });

  /** Core NATS keeps nothing for who is not there yet. */
  async function subscribed({ source, broker }: Receiver): Promise<void> {
    await source.open().close();
    await broker.link.flush();
  }

  async function publish(count: number): Promise<void> {
    const { subjectPrefix } = outbox.config().nats;
    for (let n = 0; n < count; n++) outbox.nats.publish(`${subjectPrefix}.thing.ThingHappened`, `${n}`);
    await outbox.nats.flush();
  }
});
