import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsLink } from '../broker/link';
import { MAX_UNSETTLED, MAX_UNSETTLED_PER_RESULT } from './outcome';

/** What is settled within it shares a ping: one for each group of events would be felt, and nobody waits for it. */
const GATHER_MS = 10;

/**
 * Sends acknowledgements, many behind one ping: only the answer to a ping says that the broker has them. What has no
 * answer is kept, for this worker when it is connected again or for any other, whichever comes first.
 */
export class Acks {
  private waiting: string[] = [];
  private unsettled: string[] = [];
  private sending: Promise<void> | undefined;

  constructor(private readonly link: NatsLink) {
    link.onUp(() => this.sendAgain());
  }

  ack(reply: string): void {
    this.waiting.push(reply);
    this.sending ??= this.send().finally(() => (this.sending = undefined));
  }

  /** Not kept when it is lost: without it the message comes again after `ack_wait`. */
  nak(reply: string, delayMs: number): void {
    this.publish(reply, delayMs > 0 ? `-NAK {"delay": ${Math.round(delayMs) * 1_000_000}}` : '-NAK');
  }

  /** More time for a message that is in hand. */
  working(reply: string): void {
    this.publish(reply, '+WPI');
  }

  take(): string[] {
    return this.unsettled.splice(0, MAX_UNSETTLED_PER_RESULT);
  }

  /** @returns whether the broker has them all */
  async sendNow(replies: readonly string[]): Promise<boolean> {
    for (const reply of replies) if (!this.publish(reply, '+ACK')) return false;
    return this.link.flush();
  }

  /** Resolves when all that was to be acknowledged is sent, or kept. */
  async idle(): Promise<void> {
    while (this.sending) await this.sending;
  }

  private async send(): Promise<void> {
    while (this.waiting.length > 0) {
      await sleep(GATHER_MS);
      const replies = this.waiting.splice(0);
      if (!(await this.sendNow(replies))) this.keep(replies);
    }
  }

  private sendAgain(): void {
    for (const reply of this.unsettled.splice(0)) this.ack(reply);
  }

  private keep(replies: readonly string[]): void {
    this.unsettled = [...this.unsettled, ...replies].slice(-MAX_UNSETTLED);
  }

  /** A client that is not connected would buffer it, and drop the buffer when it connects. */
  private publish(reply: string, body: string): boolean {
    const { connection, up } = this.link;
    if (!connection || !up) return false;
    try {
      connection.publish(reply, body);
      return true;
    } catch {
      return false;
    }
  }
}
