import type { NatsConnection, Subscription } from 'nats';
import { retryBackoff } from '../backoff';
import type { HandlingOutcome, IncomingEvent } from '../handlers/incoming';
import { aboutReturned } from './aboutReturned';
import { Arrivals } from './arrivals';
import { Bell } from './bell';
import { ExhaustedLog } from './exhausted';
import type { SourceDeps } from './jetstreamSource';
import { incomingEvent } from './message';
import type { Counts } from './outcome';
import { Tally, type Flow, type Source } from './source';

/** What waits here for room. More is dropped with a warning: core NATS stores nothing, and memory has an end. */
const MAX_BUFFERED = 10_000;
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;

interface Waiting {
  readonly event: IncomingEvent;
  tries: number;
}

/**
 * Receives from core NATS, as a member of a queue group: the subscription stays open from the first receiving on, and
 * what comes between two of them is buffered. Nothing is acknowledged and nothing comes twice, so what a worker has
 * buffered when it ends, or waits here for its next try, is lost; it says how many those were.
 */
export class CoreSource implements Source {
  private readonly tally = new Tally();
  private readonly exhausted: ExhaustedLog;
  private readonly buffer: Waiting[] = [];
  private readonly flows = new Set<CoreFlow>();
  /** One for each event that waits for its next try. */
  private readonly tries = new Set<NodeJS.Timeout>();
  private readonly arrivals = new Arrivals<Waiting>((events) => this.handIn(events));
  private subscribed: { on: NatsConnection; subscription: Subscription } | undefined;
  private bytes = 0;
  private dropping = false;

  constructor(private readonly deps: SourceDeps) {
    this.exhausted = deps.exhausted ?? new ExhaustedLog(deps.logger);
    deps.link.onDown((reason) => {
      for (const flow of this.flows) flow.lose(reason);
    });
    // The client renews a subscription when it reconnects, but not on another connection.
    deps.link.onUp(() => {
      if (this.subscribed) this.subscribe();
    });
  }

  async ready(): Promise<string | null> {
    const { link } = this.deps;
    if (!link.up) return link.reason;
    return (await link.check()) ? null : link.reason;
  }

  open(): Flow {
    this.subscribe();
    const flow = new CoreFlow(
      () => this.serve(),
      () => this.flows.delete(flow),
    );
    this.flows.add(flow);
    return flow;
  }

  takeCounts(): Counts {
    return this.tally.take();
  }

  takeUnsettled(): string[] {
    return [];
  }

  acknowledge(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.subscribed?.subscription.unsubscribe();
    this.subscribed = undefined;
    const events = this.buffer.length + this.tries.size;
    if (events > 0) this.deps.logger.warn({ events }, 'Events of core NATS were waiting when the worker ended: lost');
    for (const timer of this.tries) clearTimeout(timer);
    this.tries.clear();
    this.buffer.length = 0;
    return Promise.resolve();
  }

  private subscribe(): void {
    const { link, config } = this.deps;
    const { connection } = link;
    if (!connection || this.subscribed?.on === connection) return;
    const { subjectPrefix, durable } = config.nats;
    const subscription = connection.subscribe(`${subjectPrefix}.>`, {
      queue: durable,
      callback: (error, message) => {
        if (error) for (const flow of this.flows) flow.lose(`messages cannot be received: ${error.message}`);
        else this.take({ event: incomingEvent(message, subjectPrefix, null), tries: 1 });
      },
    });
    this.subscribed = { on: connection, subscription };
  }

  private take(waiting: Waiting): void {
    this.tally.add('received');
    this.put(waiting);
  }

  private put(waiting: Waiting): void {
    const size = waiting.event.payload.length;
    if (this.buffer.length >= MAX_BUFFERED || this.bytes + size > MAX_BUFFERED_BYTES) {
      if (!this.dropping)
        this.deps.logger.warn('Events of core NATS come faster than they are handled: some are dropped');
      this.dropping = true;
      return;
    }
    this.buffer.push(waiting);
    this.bytes += size;
    this.serve();
  }

  private serve(): void {
    for (const flow of this.flows) {
      while (flow.outstanding > 0) {
        const waiting = this.buffer.shift();
        if (!waiting) return;
        this.bytes -= waiting.event.payload.length;
        if (this.buffer.length === 0) this.dropping = false;
        flow.took();
        this.arrivals.add(waiting);
      }
    }
  }

  private handIn(events: readonly Waiting[]): void {
    const waitingOf = new Map<IncomingEvent, Waiting>(events.map((waiting) => [waiting.event, waiting]));
    this.deps.intake.handle([...waitingOf.keys()], (event, outcome) => {
      const waiting = waitingOf.get(event);
      if (waiting) this.settle(waiting, outcome);
    });
  }

  private settle(waiting: Waiting, outcome: HandlingOutcome): void {
    this.tally.add(outcome.kind === 'handled' ? 'handled' : outcome.kind === 'handed over' ? 'handedOver' : 'returned');
    if (outcome.kind !== 'returned') return;
    const { config, stopping, logger } = this.deps;
    const { reason } = outcome;
    if (stopping.aborted || waiting.tries >= config.maxAttempts) {
      for (const about of aboutReturned(waiting.event, outcome, waiting.tries, this.deps))
        if (stopping.aborted)
          logger.warn({ ...about, reason }, 'An event of core NATS was interrupted by the stop: lost');
        else this.exhausted.tell({ ...about, reason });
      return;
    }
    const { backoffFirstMs, backoffMaxMs } = config.relay;
    // Nobody else has it: it is given to this worker's intake again.
    const again = () => {
      this.tries.delete(timer);
      this.put(waiting);
    };
    const timer = setTimeout(again, retryBackoff(waiting.tries++, backoffFirstMs, backoffMaxMs)).unref();
    this.tries.add(timer);
  }
}

class CoreFlow implements Flow {
  received = 0;
  outstanding = 0;
  lost: string | null = null;
  private readonly bell = new Bell();

  constructor(
    private readonly serve: () => void,
    private readonly leave: () => void,
  ) {}

  want(room: number): void {
    this.outstanding = room;
    this.serve();
  }

  took(): void {
    this.outstanding--;
    this.received++;
    this.bell.ring();
  }

  wait(ms: number, signal: AbortSignal): Promise<void> {
    return this.bell.wait(ms, signal);
  }

  close(): Promise<void> {
    this.outstanding = 0;
    this.leave();
    return Promise.resolve();
  }

  lose(reason: string): void {
    this.lost ??= reason;
    this.bell.ring();
  }
}
