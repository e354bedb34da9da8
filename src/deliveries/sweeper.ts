import type { Config } from '../config';
import { PRUNE_CHUNK, pruneLedger } from '../ledger/prune';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import { RunRefusedError, type DeliveryRuns } from '../temporal/deliveryRuns';
import { forsake, ORPHANS_AT_ONCE, settleLeftRows, takeOrphans, type Orphan } from './sweep';

/** Chunks of one look: a backlog of years is forgotten within the hour, and no look lasts long. */
const PRUNE_CHUNKS = 20;
/** An hour's worth is forgotten in a moment; a backlog of years takes its turn after turn. */
const PRUNE_EVERY_MS = 60_000;

/**
 * Looks now and then for what nobody else would finish: deliveries without a run, rows whose last delivery ended while
 * its process died, ledger rows past their retention. Every worker sweeps; locked rows are left to the other.
 */
export class Sweeper {
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  private pruneAt = 0;
  private sweeping: Promise<void> = Promise.resolve();

  constructor(
    private readonly deps: {
      readonly db: Database;
      readonly config: Config;
      readonly runs: Pick<DeliveryRuns, 'start'>;
      readonly logger: Logger;
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
    const { db, config, logger } = this.deps;
    try {
      // Rows wait for deliveries in this backend only.
      const settled = config.backend === 'db' ? await settleLeftRows(db) : 0;
      if (settled > 0) logger.info({ rows: settled }, 'Settled rows whose deliveries were over');
      await this.prune();
      // Last: after a mass failure it takes minutes.
      await this.startLostRuns();
    } catch (error) {
      if (!this.closed) logger.warn(`The sweep failed and is tried again: ${(error as Error).message}`);
    }
  }

  private async prune(): Promise<void> {
    const { db, config, logger } = this.deps;
    if (performance.now() < this.pruneAt) return;
    this.pruneAt = performance.now() + PRUNE_EVERY_MS;
    let pruned = 0;
    for (let chunk = 0; chunk < PRUNE_CHUNKS && !this.closed; chunk++) {
      const rows = await pruneLedger(db, config.handling.retentionMs);
      pruned += rows;
      if (rows < PRUNE_CHUNK) break;
    }
    if (pruned > 0) logger.info({ rows: pruned }, 'Forgot ledger rows past their retention');
  }

  private async startLostRuns(): Promise<void> {
    const { db, config, logger } = this.deps;
    const total: Started = { started: 0, refused: [], left: [] };
    for (;;) {
      const orphans = await takeOrphans(db, config.handling.sweepAfterMs);
      const byEvent = new Map<string, Orphan[]>();
      for (const orphan of orphans) byEvent.set(orphan.eventId, [...(byEvent.get(orphan.eventId) ?? []), orphan]);
      await this.startEach(byEvent, total);
      if (total.left.length > 0) await forsake(db, total.left);
      if (total.left.length > 0 || orphans.length < ORPHANS_AT_ONCE) break;
    }
    const { started, refused } = total;
    if (started > 0) logger.info({ events: started }, 'Started delivery runs that were gone');
    const [first] = refused;
    if (first)
      logger.warn(
        { events: refused.length, ...first },
        'Temporal refuses delivery runs; their events wait, and are asked for again',
      );
  }

  /** One that is refused holds up no other; its next turn is when it has been untouched for `sweepAfterMs` again. */
  private async startEach(byEvent: ReadonlyMap<string, readonly Orphan[]>, total: Started): Promise<void> {
    const { runs, logger } = this.deps;
    const events = [...byEvent.keys()];
    for (const [index, deliveries] of [...byEvent.values()].entries()) {
      const [first] = deliveries;
      if (!first || this.closed) return void total.left.push(...events.slice(index));
      try {
        await runs.start(
          first,
          deliveries.map(({ handler, attempts, dueInMs, reason }) => ({ handler, attempts, dueInMs, reason })),
        );
        total.started++;
      } catch (error) {
        const reason = (error as Error).message;
        if (!(error instanceof RunRefusedError)) {
          logger.debug(`A delivery run could not be started: ${reason}`);
          return void total.left.push(...events.slice(index));
        }
        total.refused.push({ eventId: first.eventId, reason });
      }
    }
  }
}

interface Started {
  started: number;
  readonly refused: { readonly eventId: string; readonly reason: string }[];
  /** Temporal is away: these would fare no better. */
  readonly left: string[];
}
