import { setTimeout as sleep } from 'node:timers/promises';
import { connect, PermissionViolationError, type NatsConnection, type NodeConnectionOptions } from 'nats';
import type { Config } from '../config';
import type { Logger } from '../logger';
import { maskUrl } from '../mask';
import { natsLogin } from './credentials';
import { OutageLog } from './outageLog';
import { whyRefused } from './refusal';

/** A broker that does not answer a ping for so long is away: publishing to it would only collect time-outs. */
const PING_TIMEOUT_MS = 2_000;
/** How often a broker that is away is looked at: it must be noticed within seconds of its answer. */
const LOOK_EVERY_MS = 500;

/**
 * The connection to NATS, made and kept in the background: a broker that is late or goes away never ends the process.
 * `up` means that it answered; a connection that is open to a frozen server is not up.
 */
export class NatsLink {
  up = false;
  connection: NatsConnection | undefined;

  private readonly upListeners: (() => void)[] = [];
  private readonly violationListeners: ((subject: string, reason: string) => void)[] = [];
  private readonly downListeners: ((reason: string) => void)[] = [];
  private closed = false;
  private checking: Promise<boolean> | undefined;
  private looking = false;
  /** Counts disconnects: what was prepared before one may be gone with it. */
  private disconnects = 0;
  private readonly server: string;
  private readonly outage: OutageLog;

  constructor(
    private readonly nats: Config['nats'],
    private readonly logger: Logger,
    /** Runs after each outage, before the link is up: the server may be back without its store. A throw keeps it down. */
    private readonly prepare: (connection: NatsConnection) => Promise<void>,
    /** Asks what stands behind the server's answer to a ping; a throw means that it is away. */
    private readonly ask: (connection: NatsConnection, timeoutMs: number) => Promise<unknown> = () => Promise.resolve(),
  ) {
    this.server = maskUrl(nats.url);
    this.outage = new OutageLog(nats, logger);
  }

  /** Why it is not up, in a sentence. */
  get reason(): string {
    return this.outage.reason;
  }

  onUp(listener: () => void): void {
    this.upListeners.push(listener);
  }

  onDown(listener: (reason: string) => void): void {
    this.downListeners.push(listener);
  }

  /** The server reports a publish that it does not permit on its own, after the publish has returned. */
  onViolation(listener: (subject: string, reason: string) => void): void {
    this.violationListeners.push(listener);
  }

  /** Resolves after the first try, successful or not. @throws only what no waiting will mend, such as wrong credentials */
  async start(): Promise<void> {
    const options = this.connectOptions();
    try {
      await this.open(options);
    } catch (error) {
      const refused = whyRefused(error, this.nats);
      if (refused) throw new Error(`NATS at ${this.server} ${refused}`, { cause: error });
      this.outage.unusable(error);
      void this.keepOpening(options);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    this.outage.close();
    this.up = false;
    await this.connection?.close().catch(() => undefined);
  }

  /** Pings and asks, once for all that want to know at the same moment; marks the link down when there is no answer. */
  check(): Promise<boolean> {
    this.checking ??= this.answers().finally(() => (this.checking = undefined));
    return this.checking;
  }

  private async answers(): Promise<boolean> {
    const connection = this.connection;
    if (!connection || !(await this.flush())) return false;
    try {
      await this.ask(connection, PING_TIMEOUT_MS);
      return true;
    } catch (error) {
      this.goDown(`JetStream at ${this.server} does not answer (${(error as Error).message})`);
      return false;
    }
  }

  /** Pings behind all that was sent before this call: `true` means that the broker has received it. */
  async flush(): Promise<boolean> {
    const connection = this.connection;
    if (!connection) return false;
    const timeout = new AbortController();
    try {
      const answered = await Promise.race([
        connection.rtt().then(() => true),
        sleep(PING_TIMEOUT_MS, false, { signal: timeout.signal }),
      ]);
      if (!answered) this.goDown(`NATS at ${this.server} does not answer`);
      return answered;
    } catch {
      this.goDown(`the connection to NATS at ${this.server} was lost`);
      return false;
    } finally {
      timeout.abort();
    }
  }

  private connectOptions(): NodeConnectionOptions {
    return {
      ...natsLogin(this.nats),
      name: 'temporal-outbox',
      // The default gives up after ten tries, and with it every worker of a broker that was away for a minute.
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      reconnectJitter: 100,
      timeout: 5_000,
      pingInterval: 5_000,
      maxPingOut: 2,
      // The client otherwise makes an Error for each request, for the stack of a failure that it rarely has.
      noAsyncTraces: true,
    };
  }

  private async keepOpening(options: NodeConnectionOptions): Promise<void> {
    while (!this.closed && !this.up) {
      await sleep(LOOK_EVERY_MS, undefined, { ref: false });
      try {
        await this.open(options);
      } catch (error) {
        this.outage.unusable(error);
      }
    }
  }

  private async open(options: NodeConnectionOptions): Promise<void> {
    const connection = await connect(options);
    if (this.closed) return connection.close();
    try {
      await this.prepare(connection);
    } catch (error) {
      await connection.close().catch(() => undefined);
      throw error;
    }
    this.connection = connection;
    void this.watch(connection, options);
    this.goUp();
  }

  private async watch(connection: NatsConnection, options: NodeConnectionOptions): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect' || status.type === 'staleConnection') {
        this.disconnects++;
        this.goDown(`the connection to NATS at ${this.server} was lost`);
      }
      if (status.type === 'error' && status.error instanceof PermissionViolationError) {
        const { subject, message } = status.error;
        this.logger.debug({ subject }, message);
        for (const listener of this.violationListeners) listener(subject, message);
      }
      if (status.type === 'reconnect') void this.look();
    }
    // The client gives a connection up when its credentials are refused twice; only a new one can come back.
    this.connection = undefined;
    this.goDown(`the connection to NATS at ${this.server} was closed`);
    void this.keepOpening(options);
  }

  private goUp(): void {
    if (this.up || this.closed) return;
    this.up = true;
    this.outage.over();
    for (const listener of this.upListeners) listener();
  }

  private goDown(reason: string): void {
    if (this.closed) return;
    if (this.up) {
      this.up = false;
      this.outage.say(reason);
      for (const listener of this.downListeners) listener(reason);
    }
    void this.look();
  }

  private async prepared(): Promise<boolean> {
    try {
      if (!this.connection) return false;
      await this.prepare(this.connection);
      return true;
    } catch (error) {
      this.outage.unusable(error);
      return false;
    }
  }

  /** Looks until the broker answers and is prepared. */
  private async look(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    try {
      while (!this.closed && !this.up) {
        const before = this.disconnects;
        if ((await this.check()) && (await this.prepared()) && before === this.disconnects) this.goUp();
        else await sleep(LOOK_EVERY_MS, undefined, { ref: false });
      }
    } finally {
      this.looking = false;
    }
  }
}
