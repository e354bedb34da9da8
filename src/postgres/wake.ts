import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { wakeChannel } from './channel';
import { within } from '../within';
import type { Database } from './database';
import { whyRefused } from './refusal';

/** A notification is back within milliseconds; one that takes two seconds is of no use as a wake-up. */
const PROOF_TIMEOUT_MS = 2_000;
/** A server that takes the connection and says nothing would otherwise be waited for without end. */
const CONNECT_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Listens for `NOTIFY` on one connection of its own and counts what arrives, so that a waiter that looks at the count
 * before it reads the table cannot miss a wake-up in between.
 *
 * A listener that only believes it is listening (a pooler that swallows LISTEN, a half-open connection) would turn
 * every wake-up into a poll in silence. So it is `proven` only while a notification that it sent to itself, by the way
 * the producers take, came back.
 */
export class WakeListener {
  /** Wake-ups so far. */
  count = 0;
  proven = false;

  private readonly channel: string;
  private client: Client | undefined;
  private waiters = new Set<() => void>();
  private awaited: string | undefined;
  private closed = false;
  private connecting: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private failures = 0;
  /** What `onChange` was told last, so that a connection that is refused again and again is one line. */
  private told: string | undefined;

  constructor(
    private readonly options: {
      url: string;
      /** The variable that holds `url`. */
      setting?: string;
      db: Database;
      /** How often the proof is repeated, in milliseconds. */
      proveEveryMs: number;
      /** Also told of a first connection that fails, and of one that is refused for good. */
      onChange?: (proven: boolean, reason: string) => void;
    },
  ) {
    this.channel = wakeChannel(options.db.schema);
  }

  /** Begins to listen, and to listen again whenever the connection is lost. Never rejects. */
  start(): void {
    this.connecting = this.connect().finally(() => (this.connecting = undefined));
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await within(CLOSE_TIMEOUT_MS, Promise.all([this.connecting, this.client?.end().catch(() => undefined)]));
    this.wake();
  }

  /** Resolves at the next wake-up after `seen`, when `signal` aborts, or after `ms`. */
  async wait(seen: number, ms: number, signal: AbortSignal): Promise<void> {
    if (this.count !== seen || signal.aborted || ms <= 0) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.waiters.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.waiters.add(done);
      signal.addEventListener('abort', done);
    });
  }

  private wake(): void {
    this.count++;
    for (const waiter of [...this.waiters]) waiter();
  }

  private async connect(): Promise<void> {
    if (this.closed) return;
    let client: Client;
    try {
      client = this.newClient();
    } catch (error) {
      this.failed(error);
      return;
    }
    client.on('error', (error) => this.lost(client, error.message));
    client.on('end', () => this.lost(client, 'the connection ended'));
    client.on('notification', (message) => this.received(message.payload ?? ''));
    try {
      await client.connect();
      await client.query(`/* outbox: listen */ LISTEN ${this.channel}`);
    } catch (error) {
      // Not awaited: the end of a connection that does not answer is not answered either.
      client.end().catch(() => undefined);
      this.failed(error);
      return;
    }
    if (this.closed) {
      client.end().catch(() => undefined);
      return;
    }
    this.client = client;
    // What was committed while nobody listened is found by looking once.
    this.wake();
    this.prove();
  }

  /** Throws when the URL names a file that cannot be read. */
  private newClient(): Client {
    return new Client({
      connectionString: this.options.url,
      application_name: 'temporal-outbox listen',
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: CONNECT_TIMEOUT_MS,
    });
  }

  private prove(): void {
    if (this.closed) return;
    this.awaited = `probe ${randomUUID()}`;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.judge(), PROOF_TIMEOUT_MS).unref();
    // Not awaited: a connection that is lost meanwhile must find the timer as it is, not have it set over its own.
    // That PostgreSQL is away, the listener's own connection tells.
    this.options.db
      .query(`/* outbox: prove listening */ SELECT pg_notify($1, $2)`, [this.channel, this.awaited])
      .catch(() => undefined);
  }

  private judge(): void {
    if (this.awaited === undefined) {
      this.timer = setTimeout(() => this.prove(), this.options.proveEveryMs).unref();
      return;
    }
    const client = this.client;
    if (client)
      this.lost(
        client,
        'a notification to itself did not come back; when LISTEN goes through a pooler, set OUTBOX_LISTEN_URL',
      );
  }

  private received(payload: string): void {
    if (payload === this.awaited) {
      this.awaited = undefined;
      this.failures = 0;
      this.change(true, 'a notification to itself came back');
      return;
    }
    // Another worker's proof: not an event.
    if (payload.startsWith('probe ')) return;
    this.wake();
  }

  private lost(client: Client, reason: string): void {
    if (this.client !== client) return;
    this.client = undefined;
    client.end().catch(() => undefined);
    this.again(reason);
  }

  private failed(error: unknown): void {
    const refused = whyRefused(error, this.options.url, this.options.setting ?? 'OUTBOX_LISTEN_URL');
    const reason = refused ?? (error as Error).message;
    // Never heard of so far, or a reason that waiting does not mend: nobody would look for it.
    if (!this.proven && (this.told === undefined || (refused && this.told !== refused))) this.tell(false, reason);
    this.again(reason);
  }

  private again(reason: string): void {
    this.change(false, reason);
    this.awaited = undefined;
    // A waiter may sleep on the long poll of a proven listener: let it look, and fall back to the short one.
    this.wake();
    if (this.closed) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.start(), Math.min(100 * 2 ** Math.min(this.failures++, 10), 2_000)).unref();
  }

  private change(proven: boolean, reason: string): void {
    if (this.proven === proven) return;
    this.proven = proven;
    this.tell(proven, reason);
  }

  private tell(proven: boolean, reason: string): void {
    if (this.closed) return;
    this.told = proven ? undefined : reason;
    this.options.onChange?.(proven, reason);
  }
}
