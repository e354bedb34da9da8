import { jetstream } from '@nats-io/jetstream';
import { randomUUID } from 'node:crypto';
import { Graveyard } from '../../src/consumer/graveyard';
import { Holders } from '../../src/consumer/holders';
import type { JetStreamSource } from '../../src/consumer/jetstreamSource';
import { Unowned } from '../../src/consumer/unowned';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { Receiver } from '../support/receiver';

/** Answers come within a millisecond; a busy machine takes its time. */
const ANSWERS_WITHIN_MS = 1_000;

describe('messages that wait for their turn in another worker', () => {
  let outbox: TestOutbox;
  beforeEach(async () => {
    outbox = await TestOutbox.create({ EVENT_QUEUE_MAX_ATTEMPTS: '1', OUTBOX_ACK_WAIT_MS: '500' });
  });
  afterEach(() => outbox.close());

  async function worker() {
    const receiver = await Receiver.open(outbox);
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
    return { receiver, inHand, holders, look };
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
