import { runNotStarted } from '../deliveries/runNotStarted';
import { forsake } from '../deliveries/sweep';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import type { Metrics } from '../telemetry/metrics';
import { RunRefusedError, STARTS_AT_ONCE, type DeliveryRuns } from '../temporal/deliveryRuns';
import type { WaitingDelivery } from '../workflows/deliveryMessages';
import { Gather } from './gather';
import type { IncomingEvent } from './incoming';
import { Seats } from './seats';

/**
 * Of a mass failure the rest is left to the sweep, which goes through the table in turn: a queue of thousands here would
 * wait so long that the sweep took its events for orphans, and started them too.
 */
const MOST_WAITING = 100;
/** Dead letters wait here however many they are; past it, taking more events in would only make the queue longer. */
const FULL = 5_000;
const AWAY_MS = 5_000;

/** Starts the delivery runs of what the fast path has handed over, or leaves them to the sweep. */
export class RunStarts {
  /** Events whose run is being started. */
  open = 0;
  /** So that those of the sweep, which takes as many, have their turn too. */
  private readonly seats = new Seats(STARTS_AT_ONCE);
  private readonly left: Gather<string, undefined>;
  /** Until then Temporal is not asked: when it hangs, each start meets its time-out, and the others would wait for it. */
  private awayUntil = 0;

  constructor(
    private readonly deps: {
      readonly db: Database;
      readonly runs: Pick<DeliveryRuns, 'start'>;
      readonly logger: Logger;
      readonly metrics?: Metrics | undefined;
      readonly stopping: AbortSignal;
    },
  ) {
    this.left = new Gather(async (eventIds) => {
      await forsake(deps.db, eventIds);
      return eventIds.map(() => undefined);
    });
  }

  get isFull(): boolean {
    return this.open > FULL;
  }

  /** Resolves when the run is started, or left to the sweep. What stands in `deliveries` is safe either way. */
  async start(event: IncomingEvent, deliveries: readonly WaitingDelivery[]): Promise<void> {
    this.open++;
    // The sweep looks for what waits: the run of a dead letter, which only shows that there is one, would never begin.
    const mayWait = this.open <= MOST_WAITING || deliveries.some(({ dead }) => dead === true);
    const started = mayWait && (await this.seats.with(() => this.startNow(event, deliveries)));
    if (!started) await this.left.add(event.eventId).catch(() => undefined);
    this.open--;
  }

  private async startNow(event: IncomingEvent, deliveries: readonly WaitingDelivery[]): Promise<boolean> {
    const { runs, logger, metrics, stopping } = this.deps;
    if (stopping.aborted || performance.now() < this.awayUntil) return false;
    const { eventId, eventType, aggregateType, aggregateId } = event;
    try {
      await runs.start({ eventId, eventType, aggregateType, aggregateId }, deliveries);
      metrics?.runStarted('fast path');
      return true;
    } catch (error) {
      if (!(error instanceof RunRefusedError)) this.awayUntil = performance.now() + AWAY_MS;
      const reason = (error as Error).message;
      runNotStarted(logger, { eventId, eventType, reason }, deliveries);
      return false;
    }
  }
}
