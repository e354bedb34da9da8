import type { Config } from '../config';
import type { Leases } from '../ledger/leases';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import type { Metrics } from '../telemetry/metrics';
import type { DeliveryRuns } from '../temporal/deliveryRuns';
import { HandlerSpans } from '../tracing/handlerSpans';
import type { WaitingDelivery } from '../workflows/deliveryMessages';
import { Bookkeeping } from './bookkeeping';
import { ExternalLane } from './externalLane';
import type { RedactFailure } from './failureText';
import type { HandlingOutcome, IncomingEvent, SettleHandling } from './incoming';
import type { Lane, LaneDeps } from './lane';
import { UNKNOWN_SET, type TaskResult } from './task';
import { MissingLane } from './missingLane';
import type { RecordedHandlers } from './recorded';
import type { HandlerRegistry } from './registry';
import { Room } from './room';
import { RunStarts } from './runStarts';
import type { Seats } from './seats';
import { TransactionalLane } from './transactionalLane';

export interface FastPathDeps {
  readonly db: Database;
  readonly config: Config;
  readonly registry: HandlerRegistry;
  readonly recorded: RecordedHandlers;
  readonly runs: Pick<DeliveryRuns, 'start'>;
  readonly leases: Leases;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  readonly redact?: RedactFailure | undefined;
  /** Nothing more begins. */
  readonly stopping: AbortSignal;
  /** The grace is nearly over: what runs is cut short. */
  readonly ending: AbortSignal;
  readonly transactions: Seats;
}

/** An event in hand: open until each of its handlers has its result. */
interface Work {
  readonly event: IncomingEvent;
  readonly settle: (outcome: HandlingOutcome) => void;
  /** Handlers that have been asked. */
  readonly asked: Set<string>;
  readonly deliveries: WaitingDelivery[];
  open: number;
  handedOver: boolean;
  /** Why it is given back, and the handlers that do. */
  returned: string | undefined;
  readonly returnedBy: string[];
}

/**
 * Many events handled inside one activity: effects start the moment an event is handed in, each handler goes its own way,
 * and what succeeds costs one ledger statement for a group. What fails or must wait becomes a delivery.
 */
export class FastPath {
  private readonly lanes = new Map<string, Lane>();
  private readonly books: Bookkeeping;
  private readonly size: Room;
  private readonly starts: RunStarts;
  private readonly spans: HandlerSpans;
  private inHand = 0;
  private idle: (() => void)[] = [];

  constructor(private readonly deps: FastPathDeps) {
    const { db, config, leases, logger, stopping, ending } = deps;
    this.size = new Room(4 * config.handling.concurrency, config.relay.batchSize);
    this.books = new Bookkeeping(db, config, leases, logger, { stopping, ending }, () => this.size.changed());
    this.starts = new RunStarts(deps);
    this.spans = new HandlerSpans(config, deps.redact);
    stopping.addEventListener('abort', () => {
      for (const lane of this.lanes.values()) lane.stop();
    });
  }

  /** Events in hand: taken in, and without an outcome yet. */
  get events(): number {
    return this.inHand;
  }

  /** How many more events may be handed in now: what can be started soon. */
  room(): number {
    if (this.books.away || this.deps.stopping.aborted || this.starts.isFull) return 0;
    const limit = this.size.limit();
    const room = limit - this.inHand;
    // Not for each event that leaves: a claim or a pull of single events costs as much as one of many.
    return room >= Math.min(limit, Math.max(1, limit / 4)) ? room : 0;
  }

  /** Resolves when there is room, when `signal` aborts, or after `ms`. */
  async whenRoomy(ms: number, signal: AbortSignal): Promise<void> {
    const end = performance.now() + ms;
    while (this.room() === 0 && !signal.aborted && performance.now() < end) {
      await this.size.wait(end - performance.now(), signal);
    }
  }

  /** Begins to handle; `settle` is called exactly once for each event, in any order, and late when a handler is slow. */
  handle<E extends IncomingEvent>(events: readonly E[], settle: SettleHandling<E>): void {
    for (const event of events) {
      this.inHand++;
      const work: Work = {
        event,
        settle: (outcome) => settle(event, outcome),
        asked: new Set(),
        deliveries: [],
        open: 0,
        handedOver: false,
        returned: undefined,
        returnedBy: [],
      };
      this.ask(work);
      if (work.open === 0) void this.withoutHandlers(work);
    }
  }

  /** Resolves when nothing is in hand. */
  async whenIdle(): Promise<void> {
    if (this.inHand + this.starts.open > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
  }

  /** Names of all handlers that take events of this type, here or in other workers. */
  handlersFor(type: string): string[] {
    const { registry, recorded } = this.deps;
    return [...new Set([...registry.forType(type).map(({ name }) => name), ...recorded.forType(type)])];
  }

  /** Asks each handler of the event that has not been asked. */
  private ask(work: Work): void {
    const asking = this.handlersFor(work.event.eventType).filter((name) => !work.asked.has(name));
    work.open += asking.length;
    for (const name of asking) {
      work.asked.add(name);
      this.laneOf(name).add({ event: work.event, resolve: (result) => this.answered(work, name, result) });
    }
  }

  /** Nobody takes it, as far as this worker knew: a handler may have been recorded a moment ago. */
  private async withoutHandlers(work: Work): Promise<void> {
    const known = await this.deps.recorded.refresh().then(
      () => true,
      () => false,
    );
    this.ask(work);
    if (work.open > 0) return;
    // Then nobody knows whether somebody takes it.
    if (!known) work.returned = UNKNOWN_SET.reason;
    void this.settle(work);
  }

  private answered(work: Work, handler: string, result: TaskResult): void {
    work.open--;
    if (result.kind === 'handed over') {
      work.handedOver = true;
      work.deliveries.push(...result.deliveries);
    } else if (result.kind === 'returned') {
      work.returned = result.reason;
      work.returnedBy.push(handler);
    }
    if (work.open > 0) return;
    // The claim has told whether the recorded set has changed since the event was taken in.
    this.ask(work);
    if (work.open === 0) void this.settle(work);
  }

  private async settle(work: Work): Promise<void> {
    const { event, deliveries } = work;
    this.inHand--;
    this.size.settled();
    if (deliveries.length > 0) {
      await this.starts.start(event, deliveries);
      this.size.changed();
    }
    work.settle(outcomeOf(work));
    if (this.inHand + this.starts.open === 0) for (const resolve of this.idle.splice(0)) resolve();
  }

  private laneOf(name: string): Lane {
    let lane = this.lanes.get(name);
    if (!lane) {
      const handler = this.deps.registry.get(name);
      const deps: LaneDeps = { ...this.deps, books: this.books, redact: this.deps.redact, spans: this.spans };
      lane = !handler
        ? new MissingLane(name, deps)
        : handler.transactional
          ? new TransactionalLane(handler, deps)
          : new ExternalLane(handler, deps);
      if (this.deps.stopping.aborted) lane.stop();
      this.lanes.set(name, lane);
    }
    return lane;
  }
}

function outcomeOf({ returned, returnedBy, handedOver, asked }: Work): HandlingOutcome {
  if (returned !== undefined)
    return { kind: 'returned', reason: returned, ...(returnedBy.length > 0 && { handlers: returnedBy }) };
  return handedOver ? { kind: 'handed over' } : { kind: 'handled', handlers: asked.size };
}
