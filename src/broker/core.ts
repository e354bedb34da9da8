import type { Config } from '../config';
import type { ClaimedEvent } from '../event';
import type { Logger } from '../logger';
import type { Broker, Outcome, Settle } from './broker';
import { sortFailure } from './failures';
import { NatsLink } from './link';
import { tracePublishes } from '../tracing/publishSpans';
import { prepare } from './prepare';
import { subjectOf } from './subject';

/**
 * Core NATS: a flushed publish counts as published. The broker neither stores nor drops duplicates: who does not listen
 * at the moment misses the event, and a publish that is repeated arrives twice.
 */
export class CoreBroker implements Broker {
  /** Shared with whoever receives: one connection for each worker. */
  readonly link: NatsLink;
  /** Of each call under way, the subjects that the server did not permit. */
  private readonly calls = new Set<Map<string, string>>();

  constructor(
    private readonly config: Config,
    logger: Logger,
  ) {
    this.link = new NatsLink(config.nats, logger, () => Promise.resolve());
    this.link.onViolation((subject, reason) => {
      for (const violations of this.calls) violations.set(subject, reason);
    });
  }

  start(): Promise<void> {
    return this.link.start();
  }

  get up(): boolean {
    return this.link.up;
  }

  onBack(listener: () => void): void {
    this.link.onUp(listener);
  }

  async ready(): Promise<string | null> {
    if (!this.link.up) return this.link.reason;
    return (await this.link.check()) ? null : this.link.reason;
  }

  close(): Promise<void> {
    return this.link.close();
  }

  async publish(events: readonly ClaimedEvent[], given: Settle): Promise<void> {
    const settle = tracePublishes(events, given, this.config.nats.subjectPrefix);
    const sent: ClaimedEvent[] = [];
    const violations = new Map<string, string>();
    this.calls.add(violations);
    for (const event of events) {
      const refused = this.send(event);
      if (refused) settle(event, refused);
      else sent.push(event);
    }
    const flushed = sent.length > 0 && (await this.link.flush());
    // Errors stand before the answer to the ping, but the client hands them on in turns of their own.
    await new Promise((resolve) => setImmediate(resolve));
    this.calls.delete(violations);
    const outcome: Outcome =
      flushed && this.link.up ? { kind: 'published', duplicate: false } : { kind: 'away', reason: this.link.reason };
    for (const event of sent) {
      const violation = violations.get(subjectOf(this.config.nats.subjectPrefix, event) ?? '');
      settle(event, violation === undefined ? outcome : { kind: 'later', reason: violation });
    }
  }

  private send(event: ClaimedEvent): Outcome | undefined {
    const connection = this.link.connection;
    if (!connection || !this.link.up) return { kind: 'away', reason: this.link.reason };
    const message = prepare(event, this.config.nats, connection.info?.max_payload);
    if ('kind' in message) return message;
    try {
      connection.publish(message.subject, event.payload, { headers: message.headers });
      return undefined;
    } catch (error) {
      const failure = sortFailure(error, message.subject);
      return failure.kind === 'later' ? { kind: 'refused', reason: failure.reason } : failure;
    }
  }
}
