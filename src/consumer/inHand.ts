import type { IncomingEvent } from '../handlers/incoming';
import type { Acks } from './acks';

/** A message of a stream that was delivered here and has no outcome yet. */
export interface Held {
  readonly sequence: number;
  /** Of its newest delivery. */
  reply: string;
  deliveries: number;
  readonly event: IncomingEvent;
}

/** The messages in hand. While one is, the broker is told so, and does not deliver it again (C19). */
export class InHand {
  private readonly held = new Map<number, Held>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly acks: Acks,
    private readonly everyMs: number,
  ) {}

  has(sequence: number): boolean {
    return this.held.has(sequence);
  }

  /**
   * @returns `false` when the message is in hand already: delivered again while the connection was cut, it is the same
   *   event at work here, and is settled by its newest delivery
   */
  add(message: Held): boolean {
    const known = this.held.get(message.sequence);
    if (known) {
      known.reply = message.reply;
      known.deliveries = message.deliveries;
      return false;
    }
    this.held.set(message.sequence, message);
    this.timer ??= setInterval(() => this.tell(), this.everyMs).unref();
    return true;
  }

  remove(sequence: number): void {
    this.held.delete(sequence);
    if (this.held.size === 0) this.stop();
  }

  all(): Held[] {
    return [...this.held.values()];
  }

  private tell(): void {
    for (const { reply } of this.held.values()) this.acks.working(reply);
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
