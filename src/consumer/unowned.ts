import type { ConsumerInfo } from '@nats-io/jetstream';
import type { NatsLink } from '../broker/link';
import type { Config } from '../config';
import { findUnowned } from '../deliveries/findUnowned';
import type { Database } from '../postgres/database';
import type { Graveyard } from './graveyard';
import { takesSubject } from './given';
import type { Holders } from './holders';
import { managerOver, readStored, type StoredEvent } from './storedEvents';

const MAX_PER_LOOK = 1_000;
const MAX_SUSPECTS = 10_000;

export interface UnownedDeps {
  readonly db: Database;
  readonly link: NatsLink;
  readonly config: Config;
  readonly graveyard: Graveyard;
  readonly handlersFor: (type: string) => readonly string[];
  /** In hand in some worker, this one included: owned, whatever the ledger says yet. */
  readonly holders: Pick<Holders, 'holds' | 'heldOf'>;
  /**
   * Milliseconds in which messages could have been delivered here (`JetStreamSource.pulledMs`). By any other clock a
   * pause would make dead letters: what nobody pulls for an hour has no owner for an hour.
   */
  readonly clock: () => number;
}

/**
 * Finds messages that were delivered and that nobody will ever settle: their deliveries are used up, or `max_deliver` was
 * lowered below what they had, which the server tells nobody. What has no owner in two looks, with time for a
 * redelivery between them, becomes a dead letter.
 *
 * Found on nats-server 2.15.1: a message that is over its limit is noticed at the next pull only. It then counts as
 * neither pending nor unprocessed, and the ack floor passes it as soon as nothing else is in hand. So a look
 * remembers its suspects, and looks at them again wherever the floor is; one that the floor has passed before any look is
 * known from the advisory alone.
 */
export class Unowned {
  private from = 0;
  /** When each sequence without an owner was seen first. */
  private readonly suspects = new Map<number, number>();

  constructor(private readonly deps: UnownedDeps) {}

  /**
   * Looks at up to 1,000 unacknowledged messages; the next look goes on from there.
   *
   * @returns how many became dead letters
   * @throws while PostgreSQL or the broker is away: nothing is lost, the next look finds the same
   */
  async look(): Promise<number> {
    const { link, config, clock, graveyard, holders } = this.deps;
    const { stream, durable, ackWaitMs } = config.nats;
    const manager = await managerOver(link);
    const consumer = await manager.consumers.info(stream, durable);
    const sequences = [...new Set([...this.suspects.keys(), ...this.next(consumer)])];
    // What is in hand here need neither be read nor asked for.
    const elsewhere = sequences.filter((sequence) => !holders.holds(sequence));
    const stored = await readStored(manager, config.nats, elsewhere);
    const unowned = await this.withoutOwner(stored.filter(({ subject }) => takesSubject(consumer, subject)));
    const now = clock();
    this.forgetAllBut(unowned);
    const patience = config.relay.backoffMaxMs + ackWaitMs;
    const dead: StoredEvent[] = [];
    for (const message of unowned) {
      const since = this.suspects.get(message.sequence);
      if (since !== undefined && now - since >= patience) dead.push(message);
      else if (since === undefined && this.suspects.size < MAX_SUSPECTS) this.suspects.set(message.sequence, now);
    }
    const rows = await graveyard.bury(dead);
    for (const { sequence } of dead) this.suspects.delete(sequence);
    return new Set(rows.filter(({ kind }) => kind === 'recorded').map(({ eventId }) => eventId)).size;
  }

  /** The sequences of this look. */
  private next({ ack_floor: floor, delivered }: ConsumerInfo): number[] {
    if (this.from <= floor.stream_seq || this.from > delivered.stream_seq) this.from = floor.stream_seq + 1;
    const count = Math.max(0, Math.min(MAX_PER_LOOK, delivered.stream_seq - this.from + 1));
    const sequences = Array.from({ length: count }, (_, index) => this.from + index);
    this.from += count;
    return sequences;
  }

  private async withoutOwner(stored: readonly StoredEvent[]): Promise<StoredEvent[]> {
    const { db, config, handlersFor } = this.deps;
    const events = stored.map(({ event }) => ({ eventId: event.eventId, handlers: handlersFor(event.eventType) }));
    const unowned = await findUnowned(db, events, config.handling);
    const suspected = stored.filter(({ event }) => unowned.has(event.eventId));
    const held = await this.deps.holders.heldOf(suspected.map(({ sequence }) => sequence));
    return suspected.filter(({ sequence }) => !held.has(sequence));
  }

  /** Owned, or gone from the stream. */
  private forgetAllBut(unowned: readonly StoredEvent[]): void {
    const kept = new Set(unowned.map(({ sequence }) => sequence));
    for (const sequence of this.suspects.keys()) if (!kept.has(sequence)) this.suspects.delete(sequence);
  }
}
