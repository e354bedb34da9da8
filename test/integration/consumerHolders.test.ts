import { jetstream } from '@nats-io/jetstream';
import { randomUUID } from 'node:crypto';
import { Advisories } from '../../src/consumer/advisories';
import { Graveyard } from '../../src/consumer/graveyard';
import { Holders } from '../../src/consumer/holders';
import type { JetStreamSource } from '../../src/consumer/jetstreamSource';
import { Unowned } from '../../src/consumer/unowned';
import { eventually } from '../support/eventually';
import { TestOutbox, type Settings } from '../support/outbox';
import { Proxy } from '../support/proxy';
import { Receiver } from '../support/receiver';

/** Answers come within a millisecond; a busy machine takes its time. */
const ANSWERS_WITHIN_MS = 1_000;

describe('messages that wait for their turn in another worker', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_QUEUE_MAX_ATTEMPTS: '1', OUTBOX_ACK_WAIT_MS: '500' });
  });
  afterEach(() => outbox.close());

  async function worker(settings: Settings = {}) {
    const receiver = await Receiver.open(outbox, settings);
    receiver.intake.settleWith = () => new Promise<never>(() => undefined);
    const { config, logger, exhausted, broker, source } = receiver;
    const { link } = broker;
    const inHand = source as JetStreamSource;
    const holders = new Holders(link, config.nats, (sequence) => inHand.holds(sequence), ANSWERS_WITHIN_MS);
    const handlersFor = () => ['one'];
    const graveyard = new Graveyard({ db: outbox.db, link, config, logger, exhausted, handlersFor });
    let clock = 0;
    const unowned = new Unowned({ db: outbox.db, link, config, graveyard, handlersFor, holders, clock: () => clock });
    const look = () => {
      clock += 10 * (config.relay.backoffMaxMs + config.nats.ackWaitMs);
      return unowned.look();
    };
    const advisories = new Advisories({ link, config, logger, graveyard, holders });
    return { receiver, inHand, holders, look, advisories };
  }
  /** One that can be cut off from the broker. */
  async function workerBehindProxy() {
    const proxy = await Proxy.to(outbox.config().nats.url);
    outbox.onClose(() => proxy.close());
    return { proxy, ...(await worker({ NATS_URL: proxy.url(outbox.config().nats.url) })) };
  }
  const publish = async (count: number) => {
    const { stream, subjectPrefix } = outbox.config().nats;
    for (let n = 0; n < count; n++)
      await jetstream(outbox.nats).publish(`${subjectPrefix}.thing.ThingHappened`, '{}', { msgID: randomUUID() });
    return stream;
  };
  const dead = async () => (await outbox.db.query(`SELECT FROM :schema.deliveries WHERE state = 'dead'`)).rows.length;

  it('are no dead letters, though neither ledger nor deliveries know of them, until that worker is gone', async () => {
    const [owner, other] = [await worker(), await worker()];
    await publish(3);
    const stop = owner.receiver.keepReceiving();
    await eventually(() => [1, 2, 3].every((sequence) => owner.inHand.holds(sequence)), undefined, 'three in hand');
    for (let look = 0; look < 3; look++) expect(await other.look()).toBe(0);
    expect(await dead()).toBe(0);

    owner.receiver.stopping.abort();
    await stop();
    await owner.receiver.source.close();
    await owner.receiver.broker.close();
    let found = 0;
    await eventually(async () => (found += await other.look()) === 3, undefined, 'three dead letters');
    expect(await dead()).toBe(3);
  });

  it.each(['another worker', 'the worker that has them'])(
    'are no dead letters when they are given up while that worker is cut off, though %s reads it',
    async (reader) => {
      const [owner, other] = [await workerBehindProxy(), await worker()];
      await other.advisories.look();
      await publish(3);
      const stop = owner.receiver.keepReceiving();
      await eventually(() => [1, 2, 3].every((sequence) => owner.inHand.holds(sequence)), undefined, 'three in hand');
      await stop();
      owner.proxy.takeAway();
      // Its pull makes the broker see that nobody has spoken for them.
      const stopOther = other.receiver.keepReceiving();
      const { stream, durable } = outbox.config().nats;
      const captured = async () => (await outbox.manager.streams.info(`${stream}_ADVISORIES`)).state.messages;
      await eventually(async () => (await captured()) === 3, undefined, 'three messages that are given up');
      await stopOther();
      owner.proxy.giveBack();
      await eventually(() => owner.receiver.broker.link.up, undefined, 'a worker that is back');

      const { advisories } = reader === 'another worker' ? other : owner;
      const left = await eventually(async () => {
        await advisories.look();
        const info = await outbox.manager.consumers.info(`${stream}_ADVISORIES`, `${durable}-advisories`);
        return info.num_pending === 0 ? info : undefined;
      });
      expect(await dead()).toBe(0);
      // To be read again, once that worker is through with them or gone.
      expect(left.num_ack_pending).toBe(3);
      expect([1, 2, 3].every((sequence) => owner.inHand.holds(sequence))).toBe(true);
    },
  );

  describe('are asked for', () => {
    const subject = () => `_OUTBOX.HELD.${outbox.config().nats.stream}.${outbox.config().nats.durable}`;
    const asker = async (ackWaitMs: number) => {
      const { config, broker } = (await worker()).receiver;
      return new Holders(broker.link, { ...config.nats, ackWaitMs }, () => false);
    };

    it('for as long as the broker leaves them to a worker that says nothing', async () => {
      const holders = await asker(5_000);
      let answered = false;
      outbox.nats.subscribe(subject(), {
        callback: (_, message) => {
          if (answered) return;
          answered = true;
          // As a worker whose handler lets nothing else run.
          setTimeout(() => message.respond('[7]'), 3_000);
        },
      });
      await outbox.nats.flush();
      expect(await holders.heldOf([7, 8])).toEqual(new Set([7]));
    });

    it('again and again: a worker that comes back meanwhile answers too, and the last answer ends it', async () => {
      const holders = await asker(600_000);
      const asked = new Promise<void>((resolve) => {
        outbox.nats.subscribe(subject(), { max: 1, callback: () => resolve() });
      });
      await outbox.nats.flush();
      const held = holders.heldOf([7]);
      await asked;
      outbox.nats.subscribe(subject(), { callback: (_, message) => void message.respond('[7]') });
      expect(await held).toEqual(new Set([7]));
    });

    it.each(['lost before', 'lost, and back', 'silent'])(
      'with an error and no answer over a connection that is %s',
      async (how) => {
        const { holders, proxy, receiver } = await workerBehindProxy();
        const { link } = receiver.broker;
        if (how === 'silent') proxy.silence();
        if (how === 'lost before') {
          proxy.takeAway();
          await eventually(() => !link.up, undefined, 'a loss that is noticed');
        }
        const asked = expect(holders.heldOf([1])).rejects.toThrow(/was lost|does not answer|cannot be used/);
        if (how === 'lost, and back') {
          proxy.takeAway();
          await eventually(() => !link.up, undefined, 'a loss that is noticed');
          proxy.giveBack();
        }
        await asked;
      },
    );

    it('no longer than until the worker stops', async () => {
      const holders = await asker(600_000);
      const asked = expect(holders.heldOf([1])).rejects.toThrow('the worker stops');
      holders.close();
      await asked;
    });
  });

  it('are told of whatever nonsense others write to the subject', async () => {
    const [owner, other] = [await worker(), await worker()];
    await publish(1);
    const stop = owner.receiver.keepReceiving();
    await eventually(() => owner.inHand.holds(1));
    const { stream, durable } = outbox.config().nats;
    const subject = `_OUTBOX.HELD.${stream}.${durable}`;
    const nonsense = outbox.nats.subscribe(subject, {
      callback: (_, message) => void message.respond('[1.5, "2", null'),
    });
    for (const text of ['', '{', 'null', '[[1]]', '{"length": 1}', '[1e400, -1, "1"]', '\u0000'])
      outbox.nats.publish(subject, text, { reply: 'nobody.listens' });
    expect(await other.holders.heldOf([1, 2, 3])).toEqual(new Set([1]));
    nonsense.unsubscribe();
    await stop();
  });
});
