import type { Config } from '../config';
import type { EventFields, Logger } from '../logger';
import type { Database } from '../postgres/database';
import type { Metrics } from '../telemetry/metrics';
import { RunRefusedError, STARTS_AT_ONCE, type DeliveryRuns } from '../temporal/deliveryRuns';
import { runNotStarted } from './runNotStarted';
import { forsake, ORPHANS_AT_ONCE, settleLeftRows, takeOrphans, type Orphan } from './sweep';

/** After a mass failure there is more to start than one look can: the rest of the sweep has its turn too. */
const LONGEST_LOOK_MS = 60_000;

/**
 * Looks now and then for what nobody else would finish: deliveries without a run, rows whose last delivery ended while
 * its process died. Every worker sweeps; locked rows are left to the other.
 */
export class Sweeper {
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  private sweeping: Promise<void> = Promise.resolve();

  constructor(
    private readonly deps: {
      readonly db: Database;
      readonly config: Config;
      readonly runs: Pick<DeliveryRuns, 'start'>;
      readonly logger: Logger;
      readonly metrics?: Metrics | undefined;
    },
  ) {}

  /** The first look is at once: after a long downtime there is most to do. */
  start(): void {
    if (this.closed) return;
    this.sweeping = this.sweep().finally(() => {
      if (!this.closed) this.timer = setTimeout(() => this.start(), this.deps.config.handling.sweepMs).unref();
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.sweeping;
  }

  private async sweep(): Promise<void> {
    const { config, metrics } = this.deps;
    // Apart: one that fails, such as a statement that meets its time-out over a table of millions, must not stop the others.
    const began = await this.attempt(() => this.startLostRuns());
    // Rows wait for deliveries in this backend only.
    const settled = config.backend !== 'db' || (await this.attempt(() => this.settleRows()));
    if (!this.closed) metrics?.swept(began && settled ? 'done' : 'failed');
  }

  /** @returns whether it went well */
  private async attempt(step: () => Promise<void>): Promise<boolean> {
    try {
      if (!this.closed) await step();
      return true;
    } catch (error) {
      if (!this.closed) this.deps.logger.warn(`The sweep failed and is tried again: ${(error as Error).message}`);
      return false;
    }
  }

  private async settleRows(): Promise<void> {
    const { db, logger } = this.deps;
    const settled = await settleLeftRows(db);
    if (settled > 0) logger.info({ rows: settled }, 'Settled rows whose deliveries were over');
  }

  private async startLostRuns(): Promise<void> {
    const { db, config, logger } = this.deps;
    const total: Total = { started: 0, refused: 0, refusal: undefined, left: [] };
    const end = performance.now() + LONGEST_LOOK_MS;
    for (;;) {
      const orphans = await takeOrphans(db, config.handling.sweepAfterMs);
      await this.startAll(orphans, total);
      if (total.left.length > 0) await forsake(db, total.left);
      if (total.left.length > 0 || orphans.length < ORPHANS_AT_ONCE || performance.now() > end) break;
    }
    const { started, refused, refusal } = total;
    if (started > 0)
      logger.info({ events: started }, 'Started delivery runs that nobody had started, or that were gone');
    if (refused > 0)
      logger.warn(
        { events: refused, ...refusal },
        'Temporal refuses delivery runs; their events wait, and are asked for again',
      );
  }

  /** Some at a time, so that they have their turn beside those of the fast path. */
  private async startAll(orphans: readonly Orphan[], total: Total): Promise<void> {
    const byEvent = new Map<string, [Orphan, ...Orphan[]]>();
    for (const orphan of orphans) {
      const known = byEvent.get(orphan.eventId);
      if (known) known.push(orphan);
      else byEvent.set(orphan.eventId, [orphan]);
    }
    const waiting = [...byEvent.values()];
    const one = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        // Temporal is away, or the worker stops: the others would fare no better.
        if (this.closed || total.left.length > 0) total.left.push(next[0].eventId);
        else await this.startOne(next, total);
      }
    };
    await Promise.all(Array.from({ length: STARTS_AT_ONCE }, one));
  }

  /** One that is refused holds up no other; its next turn is when it has been untouched for `sweepAfterMs` again. */
  private async startOne(deliveries: readonly [Orphan, ...Orphan[]], total: Total): Promise<void> {
    const { runs, logger } = this.deps;
    const [{ eventId, eventType, handler, attempts: attempt }] = deliveries;
    try {
      await runs.start(
        deliveries[0],
        deliveries.map(({ handler, attempts, dueInMs, reason }) => ({ handler, attempts, dueInMs, reason })),
      );
      total.started++;
      this.deps.metrics?.runStarted('sweep');
    } catch (error) {
      const reason = (error as Error).message;
      if (error instanceof RunRefusedError) {
        total.refused++;
        total.refusal ??= { eventId, eventType, handler, attempt, reason };
      } else {
        runNotStarted(logger, { eventId, eventType, reason }, deliveries);
        total.left.push(eventId);
      }
    }
  }
}

/** Of one look. */
interface Total {
  started: number;
  refused: number;
  /** The first of them. */
  refusal: (EventFields & { readonly reason: string }) | undefined;
  readonly left: string[];
}
