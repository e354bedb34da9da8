import { setMaxListeners } from 'node:events';
import type { DeliveryDeps } from '../activities/deliverer';
import type { Config } from '../config';
import { Sweeper } from '../deliveries/sweeper';
import { HandlerError } from '../errors';
import { Leases } from '../ledger/leases';
import type { Logger } from '../logger';
import type { Metrics } from '../telemetry/metrics';
import type { Database } from '../postgres/database';
import { DeliveryRuns } from '../temporal/deliveryRuns';
import type { RedactFailure } from './failureText';
import { FastPath } from './fastPath';
import { RecordedHandlers, recordHandlers } from './recorded';
import type { HandlerRegistry } from './registry';
import { Seats } from './seats';

/** Of the grace: after it a handler that still runs is cut short, so that what became of it can be written in the rest. */
const ENDING_PART = 0.75;

/** All that handling needs in a worker. Lives as long as the worker, across connections to Temporal. */
export class Handling {
  readonly recorded: RecordedHandlers;
  readonly leases: Leases;
  readonly runs: DeliveryRuns;
  readonly fastPath: FastPath;
  /** Two connections of the pool are left to claims, marks and the renewal of leases, whatever the handlers do. */
  readonly transactions: Seats;
  /** Aborts when the grace is nearly over. */
  readonly ending: AbortSignal;
  private readonly sweeper: Sweeper;
  private endingTimer: NodeJS.Timeout | undefined;

  constructor(
    readonly registry: HandlerRegistry,
    private readonly deps: {
      readonly db: Database;
      readonly config: Config;
      readonly logger: Logger;
      readonly metrics?: Metrics | undefined;
      readonly redact: RedactFailure | undefined;
      readonly stopping: AbortSignal;
    },
  ) {
    const { db, config, logger, metrics, stopping, redact } = deps;
    const ending = new AbortController();
    // One listener for each handler that runs.
    setMaxListeners(0, ending.signal, stopping);
    this.ending = ending.signal;
    const onStopping = () => {
      this.endingTimer = setTimeout(() => ending.abort(), ENDING_PART * config.worker.shutdownGraceMs);
    };
    if (stopping.aborted) onStopping();
    else stopping.addEventListener('abort', onStopping, { once: true });
    this.recorded = new RecordedHandlers(db);
    this.leases = new Leases(db, config.handling, logger, metrics);
    this.runs = new DeliveryRuns(config);
    this.sweeper = new Sweeper({ db, config, runs: this.runs, logger, metrics });
    this.transactions = new Seats(config.poolSize - 2);
    this.fastPath = new FastPath({
      ...{ db, config, registry, recorded: this.recorded, runs: this.runs, leases: this.leases },
      ...{ logger, metrics, redact, stopping, ending: this.ending, transactions: this.transactions },
    });
  }

  /**
   * Records this worker's handlers and begins to sweep.
   *
   * @throws HandlerError when no handler is known at all and the backend is `db`: every event would be finished unhandled
   */
  async start(): Promise<void> {
    const { db, config, logger } = this.deps;
    await recordHandlers(db, this.registry);
    await this.recorded.refresh();
    const missing = this.recorded.missing(this.registry);
    if (config.backend === 'db' && this.registry.size === 0 && missing.length === 0) {
      throw new HandlerError(
        'EVENT_BUS_BACKEND=db hands events to handlers, and none is given or recorded: start with `outbox worker --handlers <module>`, or createWorker({ handlers })',
      );
    }
    if (missing.length > 0)
      logger.warn(
        `This worker lacks recorded handlers: ${missing.join(', ')}. Their events wait for a worker that has them; if one was removed for good, run \`outbox forget <handler>\`.`,
      );
    // A worker without handlers leaves that to those that have some.
    if (this.registry.size > 0) this.sweeper.start();
  }

  /** For the activities of delivery runs. */
  deliveryDeps(): DeliveryDeps {
    const { db, config, logger, metrics, redact, stopping } = this.deps;
    const { registry, leases, ending, transactions } = this;
    return { db, config, registry, leases, logger, metrics, redact, stopping, ending, transactions };
  }

  async close(): Promise<void> {
    clearTimeout(this.endingTimer);
    this.leases.close();
    await this.sweeper.close();
  }
}
