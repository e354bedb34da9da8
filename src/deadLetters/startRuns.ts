import type { Logger } from '../logger';
import type { DeliveryRuns } from '../temporal/deliveryRuns';
import type { RevivedEvent } from './reemit';

/** Beyond this the sweep is as good, and what waits here for long would be started by both. */
const MAX_QUEUED = 50;

/**
 * Starts the runs of re-emitted deliveries in the background, one after the other: a mass of them must neither keep a
 * re-emit from answering nor the fast path from its own starts. What is not started here, the sweep starts, since a
 * re-emitted delivery counts as untouched since ever.
 */
export class RunStarter {
  private queue: RevivedEvent[] = [];
  private starting = false;

  constructor(
    private readonly runs: Pick<DeliveryRuns, 'start'> | undefined,
    private readonly logger: Logger,
  ) {}

  /** Never throws, and does not wait. */
  add(events: readonly RevivedEvent[]): void {
    if (!this.runs) return;
    this.queue.push(...events.slice(0, MAX_QUEUED - this.queue.length));
    if (!this.starting) void this.startAll(this.runs);
  }

  private async startAll(runs: Pick<DeliveryRuns, 'start'>): Promise<void> {
    this.starting = true;
    for (let event = this.queue.shift(); event; event = this.queue.shift()) {
      try {
        await runs.start(event, event.waiting);
      } catch (error) {
        const left = this.queue.length + 1;
        this.queue = [];
        const reason = (error as Error).message;
        this.logger.debug({ reason, left }, 'Runs of re-emitted deliveries were not started; the sweep does it');
      }
    }
    this.starting = false;
  }
}
