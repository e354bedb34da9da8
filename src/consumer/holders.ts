import { createInbox, type Msg, type NatsConnection } from 'nats';
import type { NatsLink } from '../broker/link';
import type { Config } from '../config';
import { Bell } from './bell';

/** How often it is asked again: after an outage of the broker the workers come back one by one. */
const ASK_EVERY_MS = 1_000;

/**
 * Workers tell one another which messages they have in hand. Ledger and deliveries know what has begun: a message that
 * waits for its turn in another worker, or that one keeps which is cut off from PostgreSQL, would look as if nobody had
 * it. Whoever holds a message is connected, or was cut off from the broker for longer than `ack_wait`.
 *
 * A worker whose NATS user may not use the subject gives no answer, and gets none.
 */
export class Holders {
  private readonly subject: string;
  private readonly closing = new AbortController();
  private listening: NatsConnection | undefined;
  /** Counts them: an answer may have been lost with the connection. */
  private outages = 0;

  constructor(
    private readonly link: NatsLink,
    { stream, durable, ackWaitMs }: Pick<Config['nats'], 'stream' | 'durable' | 'ackWaitMs'>,
    /** In hand here. */
    readonly holds: (sequence: number) => boolean,
    /** The broker leaves its messages that long to a worker which says nothing, busy with a handler that blocks it. */
    private readonly withinMs = ackWaitMs,
  ) {
    this.subject = `_OUTBOX.HELD.${stream}.${durable}`;
    link.onUp(() => this.listen());
    link.onDown(() => this.outages++);
    this.listen();
  }

  /**
   * Asks all workers, for `ack_wait`; not longer than until all the sequences are known to be held.
   *
   * @returns those of the sequences that somebody has in hand, this worker included
   * @throws unless it was connected all the time, or when it is closed: only then does silence mean that nobody has them
   */
  async heldOf(sequences: readonly number[]): Promise<Set<number>> {
    const asked = new Set(sequences);
    const held = new Set(sequences.filter(this.holds));
    if (held.size === asked.size) return held;
    const { connection, up } = this.link;
    if (!connection || !up) throw new Error(this.link.reason);
    const outages = this.outages;
    const { signal: closing } = this.closing;
    const isOpen = () => held.size < asked.size && this.outages === outages && !closing.aborted;
    const bell = new Bell();
    const inbox = createInbox();
    const answers = connection.subscribe(inbox, {
      callback: (error, { data }) => {
        if (!error) for (const sequence of readSequences(data)) if (asked.has(sequence)) held.add(sequence);
        if (!isOpen()) bell.ring();
      },
    });
    try {
      const end = performance.now() + this.withinMs;
      for (let left = this.withinMs; left > 0 && isOpen(); left = end - performance.now()) {
        connection.publish(this.subject, JSON.stringify(sequences), { reply: inbox });
        await bell.wait(Math.min(left, ASK_EVERY_MS), closing);
      }
      // A connection to a frozen server looks as if it were up.
      if (isOpen() && !(await this.link.flush())) throw new Error(this.link.reason);
    } finally {
      answers.unsubscribe();
    }
    // What was delivered here meanwhile.
    for (const sequence of asked) if (this.holds(sequence)) held.add(sequence);
    if (closing.aborted) throw new Error('the worker stops');
    if (this.outages !== outages) throw new Error(this.link.reason);
    return held;
  }

  /** Whoever asks now, or later, gets an error: a stop does not wait for answers. */
  close(): void {
    this.closing.abort();
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
