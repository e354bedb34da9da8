import { createInbox, type Msg, type NatsConnection } from 'nats';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsLink } from '../broker/link';
import type { Config } from '../config';

/** Long for a network, and short beside the minutes between two looks. */
const ANSWERS_WITHIN_MS = 2_000;

/**
 * Workers tell one another which messages they have in hand. Ledger and deliveries know what has begun: a message that
 * waits for its turn in another worker, or that one keeps which is cut off from PostgreSQL, would look as if nobody had
 * it. Whoever holds a message is connected, since the broker would otherwise give it to somebody else.
 *
 * A worker whose NATS user may not use the subject gives no answer, and gets none.
 */
export class Holders {
  private readonly subject: string;
  private listening: NatsConnection | undefined;

  constructor(
    private readonly link: NatsLink,
    { stream, durable }: Pick<Config['nats'], 'stream' | 'durable'>,
    /** In hand here. */
    readonly holds: (sequence: number) => boolean,
    private readonly withinMs = ANSWERS_WITHIN_MS,
  ) {
    this.subject = `_OUTBOX.HELD.${stream}.${durable}`;
    link.onUp(() => this.listen());
    this.listen();
  }

  /**
   * Asks the other workers, and waits two seconds for whoever answers.
   *
   * @returns those of the sequences that somebody has in hand
   * @throws while there is no connection
   */
  async heldOf(sequences: readonly number[]): Promise<Set<number>> {
    const held = new Set<number>();
    if (sequences.length === 0) return held;
    const { connection } = this.link;
    if (!connection) throw new Error(this.link.reason);
    const inbox = createInbox();
    const answers = connection.subscribe(inbox, {
      callback: (error, { data }) => {
        if (!error) for (const sequence of readSequences(data)) held.add(sequence);
      },
    });
    try {
      connection.publish(this.subject, JSON.stringify(sequences), { reply: inbox });
      await sleep(this.withinMs);
    } finally {
      answers.unsubscribe();
    }
    return held;
  }

  /** A connection that is made anew has no subscriptions; one that comes back has kept them. */
  private listen(): void {
    const { connection } = this.link;
    if (!connection || connection === this.listening) return;
    this.listening = connection;
    connection.subscribe(this.subject, {
      callback: (error, message) => {
        if (!error) this.answer(message);
      },
    });
  }

  private answer(message: Msg): void {
    const held = readSequences(message.data).filter(this.holds);
    if (held.length > 0) message.respond(JSON.stringify(held));
  }
}

/** Anybody may write to the subject: what is no list of sequences is an empty one. */
function readSequences(data: Uint8Array): number[] {
  try {
    const read: unknown = JSON.parse(Buffer.from(data).toString());
    return Array.isArray(read) ? read.filter((item): item is number => Number.isSafeInteger(item)) : [];
  } catch {
    return [];
  }
}
