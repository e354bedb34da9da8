import {
  AckPolicy,
  jetstream,
  RetentionPolicy,
  StorageType,
  type Consumer,
  type JetStreamManager,
  type JsMsg,
} from '@nats-io/jetstream';
import { nanos } from 'nats';
import type { NatsLink } from '../broker/link';
import type { Config } from '../config';
import type { Logger } from '../logger';
import { readAdvisory, type Advisory } from './advisory';
import type { Graveyard } from './graveyard';
import type { Holders } from './holders';
import { managerOver, readStored } from './storedEvents';

const SEVEN_DAYS_MS = 7 * 24 * 3_600_000;
const MAX_PER_LOOK = 100;
/** The shortest that the client lets a fetch take; it ends sooner when it has all that it asked for. */
const FETCH_MS = 1_000;
/**
 * For reading and burying; the workers are asked for up to the `ack_wait` of the messages before. Short, as one may be
 * delivered to a fetch that has just ended; reading it twice is harmless.
 */
const SETTLE_MS = 10_000;
/** A worker has it in hand still, or is at work on it: asked again when its lease has had time to end. */
const HELD_MS = 30_000;

export interface AdvisoriesDeps {
  readonly link: NatsLink;
  readonly config: Config;
  readonly logger: Logger;
  readonly graveyard: Graveyard;
  /** A message is given up while it is in hand: its last delivery runs out while its worker is cut off or restarts. */
  readonly holders: Pick<Holders, 'heldOf'>;
}

interface GivenUp extends Advisory {
  readonly message: JsMsg;
}

/**
 * Reads what the server says when it gives a message up, from a stream that captures it: said once, to whoever listens.
 *
 * Found on nats-server 2.15.1: after the last delivery it is said when the next pull comes, and then the message is gone
 * from the consumer's pending ones; while it is acknowledged neither, the ack floor passes it once nothing else is in
 * hand. For a message that is over a limit which was lowered afterwards nothing is said at all.
 */
export class Advisories {
  private consumer: Consumer | undefined;
  private warned = false;

  constructor(private readonly deps: AdvisoriesDeps) {}

  /**
   * Makes dead letters of up to 100 messages that were given up and that no worker has in hand.
   *
   * @returns how many
   * @throws while PostgreSQL or the broker is away: what was not read is read by the next look
   */
  async look(): Promise<number> {
    const manager = await managerOver(this.deps.link);
    const consumer = await this.ready(manager);
    if (!consumer) return 0;
    let pending: number;
    try {
      pending = (await consumer.info()).num_pending;
    } catch (error) {
      // Deleted, or on a connection that was closed: made again by the next look.
      this.consumer = undefined;
      throw error;
    }
    // Also with nothing pending: a redelivery does not count as that.
    const messages = await consumer.fetch({
      max_messages: Math.max(1, Math.min(MAX_PER_LOOK, pending)),
      expires: FETCH_MS,
    });
    const given: GivenUp[] = [];
    for await (const message of messages) {
      const advisory = readAdvisory(message.data);
      if (advisory) given.push({ ...advisory, message });
      else message.term('no advisory of a message that was given up');
    }
    // Asked once for all of them.
    const held = await this.deps.holders.heldOf(given.map(({ sequence }) => sequence));
    let dead = 0;
    for (const one of given) if (await this.settle(manager, one, held.has(one.sequence))) dead++;
    return dead;
  }

  /** @returns whether it became a dead letter */
  private async settle(manager: JetStreamManager, given: GivenUp, inHand: boolean): Promise<boolean> {
    const { config, graveyard } = this.deps;
    const { sequence, deliveries, message } = given;
    const rows = inHand ? [] : await graveyard.bury(await readStored(manager, config.nats, [sequence]), deliveries);
    if (inHand || rows.some(({ kind }) => kind === 'held')) message.nak(HELD_MS);
    else message.ack();
    return rows.some(({ kind }) => kind === 'recorded');
  }

  private async ready(manager: JetStreamManager): Promise<Consumer | undefined> {
    if (this.consumer) return this.consumer;
    const { link, config, logger } = this.deps;
    const { durable, ackWaitMs } = config.nats;
    const subject = `$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${config.nats.stream}.${durable}`;
    try {
      const stream = await this.capture(manager, subject);
      const name = `${durable}-advisories`;
      const ack_wait = nanos(ackWaitMs + SETTLE_MS);
      const settings = { durable_name: name, ack_policy: AckPolicy.Explicit, filter_subject: subject, ack_wait };
      await manager.consumers.info(stream, name).catch(() => manager.consumers.add(stream, settings));
      if (link.connection) this.consumer = await jetstream(link.connection).consumers.get(stream, name);
    } catch (error) {
      if (!this.warned)
        logger.warn(
          `What the broker gives up cannot be captured (${(error as Error).message}); unowned messages are found by looking, every few minutes`,
        );
      this.warned = true;
    }
    return this.consumer;
  }

  /** @returns the stream that has the subject: an operator's as it is, else ours */
  private async capture(manager: JetStreamManager, subject: string): Promise<string> {
    const [captured] = await manager.streams.names(subject).next();
    if (captured !== undefined) return captured;
    const name = `${this.deps.config.nats.stream}_ADVISORIES`;
    const ours = await manager.streams.info(name).catch(() => undefined);
    // Another schema's consumer of the same stream has made it.
    if (ours) await manager.streams.update(name, { ...ours.config, subjects: [...ours.config.subjects, subject] });
    else
      await manager.streams.add({
        name,
        subjects: [subject],
        retention: RetentionPolicy.Limits,
        storage: StorageType.File,
        max_age: nanos(SEVEN_DAYS_MS),
      });
    return name;
  }
}
