import type { Msg } from 'nats';
import { retryBackoff } from '../backoff';
import type { NatsLink } from '../broker/link';
import type { Config } from '../config';
import type { HandlingOutcome, IncomingEvent } from '../handlers/incoming';
import type { Logger } from '../logger';
import { within } from '../within';
import { aboutReturned, type Returned } from './aboutReturned';
import { Acks } from './acks';
import { Arrivals } from './arrivals';
import { ExhaustedLog } from './exhausted';
import { InHand, type Held } from './inHand';
import type { Intake } from './intake';
import { incomingEvent } from './message';
import type { Counts } from './outcome';
import { Pull, type PullLimits } from './pull';
import { readReply } from './reply';
import { Tally, type Flow, type Source } from './source';

/** Part of `ack_wait` after which the broker is told that a message is in hand: one such word may be lost. */
const WORKING_PART = 0.3;
const CLOSE_TIMEOUT_MS = 1_000;
const LOOK_EVERY_MS = 100;

export interface SourceDeps {
  readonly link: NatsLink;
  readonly config: Config;
  readonly intake: Intake;
  readonly logger: Logger;
  /** Aborts when the worker is told to stop: what comes back then is given back at once. */
  readonly stopping: AbortSignal;
  /** Names of the handlers that take events of this type: for what comes back before any was asked. Default: unknown. */
  readonly handlersFor?: (type: string) => readonly string[];
  /** Shared with whoever else comes upon exhausted events. Default: one of its own. */
  readonly exhausted?: ExhaustedLog;
}

/** Receives from the durable of a stream. Each message is acknowledged when its outcome comes, however late. */
export class JetStreamSource implements Source {
  private readonly acks: Acks;
  private readonly inHand: InHand;
  private readonly tally = new Tally();
  private readonly limits: PullLimits = { batch: Infinity, expiresMs: Infinity };
  private readonly exhausted: ExhaustedLog;
  private readonly arrivals: Arrivals<Held>;
  private readonly pulls = new Set<Pull>();
  private pulledFor = 0;

  constructor(private readonly deps: SourceDeps) {
    const { link, config, logger } = deps;
    this.acks = new Acks(link);
    this.inHand = new InHand(this.acks, Math.max(10, config.nats.ackWaitMs * WORKING_PART));
    this.exhausted = deps.exhausted ?? new ExhaustedLog(logger);
    this.arrivals = new Arrivals((messages) => this.handIn(messages));
    link.onDown((reason) => {
      for (const pull of this.pulls) pull.lose(reason);
    });
  }

  /** Milliseconds during which this worker could have been given any message: what was not delivered then is stuck. */
  get pulledMs(): number {
    return this.pulledFor;
  }

  /** The message is at work here. */
  holds(sequence: number): boolean {
    return this.inHand.has(sequence);
  }

  async ready(): Promise<string | null> {
    const { link } = this.deps;
    if (!link.up) return link.reason;
    return (await link.check()) ? null : link.reason;
  }

  open(): Flow {
    const { link, config } = this.deps;
    const { connection } = link;
    if (!connection) return lostFlow(link.reason);
    const pull = new Pull(connection, config.nats, this.limits, (message) => this.take(message));
    this.pulls.add(pull);
    const watch = setInterval(() => this.watch(pull), LOOK_EVERY_MS);
    const close = pull.close.bind(pull);
    pull.close = async () => {
      clearInterval(watch);
      await close();
      this.pulls.delete(pull);
    };
    return pull;
  }

  takeCounts(): Counts {
    return this.tally.take();
  }

  takeUnsettled(): string[] {
    return this.acks.take();
  }

  async acknowledge(replies: readonly string[]): Promise<void> {
    // They come through Temporal: nothing but an acknowledgement must be published on their word.
    const known = replies.filter((reply) => typeof reply === 'string' && readReply(reply) !== undefined);
    if (known.length > 0 && !(await this.acks.sendNow(known))) throw new Error(this.deps.link.reason);
  }

  async close(): Promise<void> {
    for (const { sequence, reply } of this.inHand.all()) {
      this.acks.nak(reply, 0);
      this.inHand.remove(sequence);
    }
    await within(CLOSE_TIMEOUT_MS, Promise.all([this.acks.idle(), this.deps.link.flush()]));
  }

  private watch(pull: Pull): void {
    if (pull.outstanding > 0) this.pulledFor += LOOK_EVERY_MS;
    if (!pull.silent) return;
    pull.forget();
    void this.deps.link.check().then((answers) => {
      if (!answers) pull.lose(this.deps.link.reason);
    });
  }

  private take(message: Msg): void {
    const position = readReply(message.reply);
    // Whatever else reaches the inbox was not delivered by the stream, and cannot be acknowledged.
    if (!position || message.reply === undefined) return;
    this.tally.add('received');
    const { stream, sequence, deliveries, at } = position;
    const event = incomingEvent(message, this.deps.config.nats.subjectPrefix, { stream, sequence, at });
    const held: Held = { sequence, reply: message.reply, deliveries, event };
    if (this.inHand.add(held)) this.arrivals.add(held);
  }

  private handIn(messages: readonly Held[]): void {
    if (this.deps.stopping.aborted) {
      const returned: HandlingOutcome = { kind: 'returned', reason: 'the worker stops' };
      for (const held of messages) this.settle(held, returned);
      return;
    }
    const heldOf = new Map<IncomingEvent, Held>(messages.map((held) => [held.event, held]));
    this.deps.intake.handle([...heldOf.keys()], (event, outcome) => {
      const held = heldOf.get(event);
      if (held) this.settle(held, outcome);
    });
  }

  private settle(held: Held, outcome: HandlingOutcome): void {
    this.inHand.remove(held.sequence);
    if (outcome.kind === 'returned') return this.giveBack(held, outcome);
    this.tally.add(outcome.kind === 'handled' ? 'handled' : 'handedOver');
    this.acks.ack(held.reply);
  }

  private giveBack({ reply, deliveries, event }: Held, outcome: Returned): void {
    const { config, stopping } = this.deps;
    this.tally.add('returned');
    const { backoffFirstMs, backoffMaxMs } = config.relay;
    this.acks.nak(reply, stopping.aborted ? 0 : retryBackoff(deliveries, backoffFirstMs, backoffMaxMs));
    if (deliveries < config.maxAttempts) return;
    for (const about of aboutReturned(event, outcome, deliveries, this.deps))
      this.exhausted.tell({ ...about, reason: outcome.reason });
  }
}

function lostFlow(reason: string): Flow {
  return {
    received: 0,
    outstanding: 0,
    lost: reason,
    want: () => undefined,
    wait: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
