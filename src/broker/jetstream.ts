import { jetstream, jetstreamManager, type JetStreamClient } from '@nats-io/jetstream';
import type { Config } from '../config';
import type { ClaimedEvent } from '../event';
import type { Logger } from '../logger';
import type { Broker, Outcome, Settle } from './broker';
import { MAX_ATOMIC, MIN_ATOMIC, sendBatch } from './atomicBatch';
import { sortFailure } from './failures';
import { Flight } from './flight';
import { headersOf } from './headers';
import { NatsLink } from './link';
import { tracePublishes } from '../tracing/publishSpans';
import { bytesOf, prepare, sizeRefusal, type Message } from './prepare';
import { ensureTopology, readTopology, type Topology } from './topology';

/** How long an acknowledgement stands for a live broker. */
const ANSWER_HOLDS_MS = 1_000;

const STALLED: Outcome = { kind: 'away', reason: 'the broker did not answer in time what was sent before' };

/** Publishes to a JetStream stream under `Nats-Msg-Id` = event id, so that the broker drops what it already has. */
export class JetStreamBroker implements Broker {
  /** Shared with whoever receives: one connection for each worker. */
  readonly link: NatsLink;
  private js: JetStreamClient | undefined;
  private topology: Topology = { atomic: false, maxMessageSize: -1 };
  /** Ends when everything before has reached the broker in order; single publishes need not wait for one another. */
  private lane: Promise<void> = Promise.resolve();
  private readonly inFlight = new Set<Flight>();
  /** Batches without an answer so far. */
  private stalls = 0;
  private acknowledgedAt = -Infinity;

  constructor(
    private readonly config: Config,
    logger: Logger,
  ) {
    const told = new Set<string>();
    this.link = new NatsLink(
      config.nats,
      logger,
      async (connection) => {
        this.topology = await ensureTopology(connection, config, logger, told);
        this.js = jetstream(connection, { timeout: config.nats.publishTimeoutMs });
      },
      // Tells a publish that nobody answers from a JetStream that answers nobody: only the latter is away.
      async (connection, timeout) =>
        (await jetstreamManager(connection, { checkAPI: false, timeout })).getAccountInfo(),
    );
    // Requests that were under way when the connection broke are not answered any more: no need to wait for them.
    this.link.onDown((reason) => {
      for (const flight of [...this.inFlight]) flight.settle({ kind: 'away', reason });
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
    // Under load a claim follows the last acknowledgement at once: asking would only delay its events.
    if (performance.now() - this.acknowledgedAt < ANSWER_HOLDS_MS) return null;
    return (await this.link.check()) ? null : this.link.reason;
  }

  async close(): Promise<void> {
    await this.link.close();
    for (const flight of [...this.inFlight])
      flight.settle({ kind: 'away', reason: 'the worker closed the connection' });
  }

  publish(events: readonly ClaimedEvent[], given: Settle): Promise<void> {
    const settle = tracePublishes(events, given, this.config.nats.subjectPrefix);
    const messages: Message[] = [];
    for (const event of events) {
      const message = prepare(event, this.config.nats, this.link.connection?.info?.max_payload);
      if ('kind' in message) settle(event, message);
      else messages.push(message);
    }
    const settled: Promise<void>[] = [];
    // What waits behind a batch without an answer would wait as long again, past the end of the activity.
    const since = performance.now();
    const stalls = this.stalls;
    const stalled = () => stalls !== this.stalls || performance.now() - since > 2 * this.config.nats.publishTimeoutMs;
    const { atomic, maxMessageSize: limit } = this.topology;
    // One message over the limit would spoil its whole batch; sent alone, the broker decides by the limit of now.
    const large = ({ event, headers }: Message) => limit >= 0 && bytesOf({ event, headers }) > limit;
    const size = atomic && !messages.some(large) && messages.length >= MIN_ATOMIC ? MAX_ATOMIC : messages.length;
    for (let from = 0; from < messages.length; from += size) {
      const part = messages.slice(from, from + size);
      if (size === MAX_ATOMIC && part.length >= MIN_ATOMIC) {
        // A batch is visible only when committed, and may fall back to single publishes: later ones wait for it.
        this.lane = this.lane.then(() =>
          stalled() ? settleAll(part, settle, STALLED) : this.publishAtomic(part, settle),
        );
        settled.push(this.lane);
      } else {
        const sent = this.lane.then(() => {
          if (!stalled()) return this.publishSingly(part, settle);
          settleAll(part, settle, STALLED);
          return { answered: Promise.resolve() };
        });
        settled.push(sent.then(({ answered }) => answered));
        this.lane = sent.then(() => undefined);
      }
    }
    return Promise.all(settled).then(() => undefined);
  }

  /** One batch, all or nothing; when the broker refuses it, they are sent one by one, in order. */
  private async publishAtomic(messages: readonly Message[], settle: Settle): Promise<void> {
    const js = this.js;
    if (!js || !this.link.up) return settleAll(messages, settle, { kind: 'away', reason: this.link.reason });
    const flight = this.takeOff((outcome) => settleAll(messages, settle, outcome));
    try {
      await sendBatch(js, messages, this.config.nats.publishTimeoutMs);
      this.acknowledgedAt = performance.now();
      flight.settle({ kind: 'published', duplicate: false });
    } catch (error) {
      const failure = sortFailure(error, messages[0]?.subject ?? '');
      if (failure.kind === 'unanswered' || failure.kind === 'away') this.stalls++;
      if (flight.settled) return;
      if (await this.isAway(failure)) return flight.settle({ kind: 'away', reason: this.link.reason });
      // A batch without an answer may be stored: published again under the same ids, that is found out.
      if (flight.cancel())
        await (
          await this.publishSingly(
            messages.map((message) => this.withoutBatch(message)),
            settle,
          )
        ).answered;
    }
  }

  /** Sends all in order; `answered` resolves when each has its outcome. Resolves itself as soon as all are sent. */
  private publishSingly(messages: readonly Message[], settle: Settle): Promise<{ answered: Promise<void> }> {
    const answers = messages.map((message) => this.publishOne(message, settle));
    return Promise.resolve({ answered: Promise.all(answers).then(() => undefined) });
  }

  private async publishOne({ event, subject, headers }: Message, settle: Settle): Promise<void> {
    const js = this.js;
    if (!js || !this.link.up) return settle(event, { kind: 'away', reason: this.link.reason });
    const flight = this.takeOff((outcome) => settle(event, outcome));
    try {
      const ack = await js.publish(subject, event.payload, { headers, timeout: this.config.nats.publishTimeoutMs });
      // The client takes any JSON for an acknowledgement, whoever sent it: the event would count as stored (C09).
      if (!ack.stream || typeof ack.stream !== 'string' || !Number.isInteger(ack.seq) || ack.seq < 1)
        flight.settle({ kind: 'later', reason: `the answer on subject ${subject} was no acknowledgement` });
      else {
        this.acknowledgedAt = performance.now();
        flight.settle({ kind: 'published', duplicate: ack.duplicate });
      }
    } catch (error) {
      const failure = sortFailure(error, subject);
      if (await this.isAway(failure)) flight.settle({ kind: 'away', reason: this.link.reason });
      // A broker that answers is not away, whatever the client made of this message's answer.
      else if (failure.kind === 'refused') flight.settle(await this.judge({ event, headers }, failure));
      else flight.settle(failure.kind === 'away' ? { kind: 'later', reason: failure.reason } : failure);
    }
  }

  /** A refusal for a size may be out of date. */
  private async judge(message: Pick<Message, 'event' | 'headers'>, refused: Outcome): Promise<Outcome> {
    const connection = this.link.connection;
    const topology = connection && (await readTopology(connection, this.config.nats.stream).catch(() => undefined));
    if (!topology) return refused;
    this.topology = topology;
    return sizeRefusal(message, this.config.nats.stream, topology.maxMessageSize);
  }

  /** The client wrote the batch's headers into ours; a single publish must not carry them. */
  private withoutBatch(message: Message): Message {
    return { ...message, headers: headersOf(message.event, this.config.nats.cloudEventsSource) };
  }

  private async isAway({ kind }: Outcome): Promise<boolean> {
    return (kind === 'away' || kind === 'unanswered') && !(await this.link.check());
  }

  private takeOff(land: (outcome: Outcome) => void): Flight {
    const flight = new Flight(land, () => this.inFlight.delete(flight));
    this.inFlight.add(flight);
    return flight;
  }
}

function settleAll(messages: readonly Message[], settle: Settle, outcome: Outcome): void {
  for (const { event } of messages) settle(event, outcome);
}
