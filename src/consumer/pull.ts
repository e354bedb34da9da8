import type { Msg, NatsConnection, Subscription } from 'nats';
import { createInbox } from 'nats';
import { within } from '../within';
import { Bell } from './bell';
import type { Flow } from './source';

const DRAIN_TIMEOUT_MS = 2_000;
const HEARTBEAT_MS = 5_000;
/** Below this a request would be over before its answer. */
const MIN_EXPIRES_MS = 100;
/** After a refusal that may pass, such as a change of leader. */
const PAUSE_MS = 500;

/** What an operator limited on the consumer, learnt from a refusal and kept from pull to pull. */
export interface PullLimits {
  batch: number;
  expiresMs: number;
}

/**
 * Pulls from a durable over one inbox. Written on the protocol instead of the client's `fetch`, which cannot end without
 * dropping what is under way: each message so dropped would spend a delivery and wait for `ack_wait`.
 */
export class Pull implements Flow {
  received = 0;
  outstanding = 0;
  lost: string | null = null;
  private readonly inbox: string;
  private readonly subscription: Subscription;
  private readonly bell = new Bell();
  private heardAt = performance.now();
  private pausedUntil = 0;
  private heartbeatMs = HEARTBEAT_MS;

  constructor(
    private readonly connection: NatsConnection,
    private readonly from: { readonly stream: string; readonly durable: string },
    private readonly limits: PullLimits,
    private readonly onMessage: (message: Msg) => void,
  ) {
    this.inbox = createInbox();
    this.subscription = connection.subscribe(this.inbox, {
      callback: (error, message) => {
        if (error) this.lose(`messages cannot be received: ${error.message}`);
        else this.take(message);
      },
    });
  }

  /** Longer without a word than the broker may be: it is away, or the request was lost. */
  get silent(): boolean {
    return this.outstanding > 0 && performance.now() - this.heardAt > 2 * this.heartbeatMs + 500;
  }

  want(room: number, ms: number): void {
    const expiresMs = Math.floor(Math.min(ms, this.limits.expiresMs));
    // Half used up: a request for each message would cost as much as the messages.
    if (this.lost !== null || this.outstanding > room / 2 || expiresMs < MIN_EXPIRES_MS) return;
    if (performance.now() < this.pausedUntil) return;
    const batch = Math.min(room - this.outstanding, this.limits.batch);
    if (batch < 1) return;
    this.heartbeatMs = Math.min(HEARTBEAT_MS, Math.floor(expiresMs / 2));
    const request = { batch, expires: expiresMs * 1_000_000, idle_heartbeat: this.heartbeatMs * 1_000_000 };
    try {
      this.connection.publish(
        `$JS.API.CONSUMER.MSG.NEXT.${this.from.stream}.${this.from.durable}`,
        JSON.stringify(request),
        { reply: this.inbox },
      );
    } catch (error) {
      return this.lose(`messages cannot be asked for: ${(error as Error).message}`);
    }
    if (this.outstanding === 0) this.heardAt = performance.now();
    this.outstanding += batch;
  }

  /** The requests so far were lost on the way to a broker that answers: the next `want` asks again. */
  forget(): void {
    this.outstanding = 0;
  }

  wait(ms: number, signal: AbortSignal): Promise<void> {
    return this.bell.wait(ms, signal);
  }

  async close(): Promise<void> {
    // Takes back the interest, then waits for a pong: what the broker had sent before is still handed in.
    await within(DRAIN_TIMEOUT_MS, this.subscription.drain()).catch(() => undefined);
    this.outstanding = 0;
  }

  lose(reason: string): void {
    this.lost ??= reason;
    this.bell.ring();
  }

  private take(message: Msg): void {
    this.heardAt = performance.now();
    // A status goes to the inbox itself; a message keeps the subject that it was published to.
    if (message.subject === this.inbox && message.headers && message.headers.code > 0) return this.read(message);
    this.received++;
    this.outstanding = Math.max(0, this.outstanding - 1);
    this.onMessage(message);
    this.bell.ring();
  }

  private read({ headers }: Msg): void {
    const code = headers?.code ?? 0;
    const description = headers?.description ?? '';
    if (code === 100) return;
    const { stream, durable } = this.from;
    if (code === 503) return this.lose(`there is no consumer ${durable} of stream ${stream}, or JetStream is off`);
    if (code === 409 && description === 'Consumer Deleted')
      return this.lose(`the consumer ${durable} of stream ${stream} was deleted`);
    if (code !== 404 && code !== 408 && code !== 409)
      return this.lose(`the consumer ${durable} of stream ${stream} refuses to be pulled: ${description} (${code})`);
    const left = headers?.get('Nats-Pending-Messages');
    this.outstanding = left ? Math.max(0, this.outstanding - Number(left)) : 0;
    if (code === 409) this.obey(description);
    this.bell.ring();
  }

  private obey(description: string): void {
    const [, batch] = /MaxRequestBatch of (\d+)/.exec(description) ?? [];
    if (batch) this.limits.batch = Math.max(1, Number(batch));
    else if (description.includes('MaxRequestExpires'))
      this.limits.expiresMs = Math.max(200, this.limits.expiresMs / 2);
    this.pausedUntil = performance.now() + PAUSE_MS;
  }
}
