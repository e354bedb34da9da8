import { Context } from '@temporalio/activity';
import type { Broker } from '../broker/broker';
import type { Config } from '../config';
import { readClaimed } from '../outbox/claim';
import { bumpFence, reclaimLeases, takeOver } from '../outbox/fence';
import type { WakeListener } from '../postgres/wake';
import { within } from '../within';
import { Batch } from '../relay/batch';
import { collect } from '../relay/collect';
import type { BatchOutcome, ClaimRequest, ClaimResult, Settled } from '../relay/outcome';
import { timingsOf } from '../relay/timings';
import { releaseBatch, writeOutcome } from '../relay/write';
import type { Metrics } from '../telemetry/metrics';
import { heartbeating } from './heartbeating';
import { createReemitActivities, type ReemitDeps } from './reemits';

export interface RelayDeps extends ReemitDeps {
  readonly broker: Broker;
  readonly wake: WakeListener;
  readonly config: Config;
  readonly metrics?: Metrics | undefined;
  /** Task queue that only this worker polls. */
  readonly ownQueue: string;
  /** Aborts when the worker is told to stop: the SDK cancels activities only after the grace time. */
  readonly stopping: AbortSignal;
  /** The longest time-out of this worker's handlers, in milliseconds. */
  readonly handlingMs?: number;
}

/** Of the grace: later than handlers are cut short, early enough to write what became of them. */
const SETTLE_PART = 0.85;

const PASS = 'A pass of the relay';
const STOPPING = 'worker stopping';

/** The relay's effects. Thin: what they do stands in `src/relay` and `src/outbox`. */
export function createRelayActivities(deps: RelayDeps) {
  const { db, broker, config, logger, metrics } = deps;
  /** Backend `db` has no broker: there, to publish is to handle. */
  const publishMetrics = config.backend === 'nats' ? metrics : undefined;
  /** Batches claimed here whose outcomes nobody has collected yet. */
  const batches = new Map<string, Batch>();
  const timings = timingsOf(config, deps.handlingMs);
  const lastProbe = { at: -Infinity };
  let lastTidied = -Infinity;

  async function claim({ openTokens, tidy: untidy }: ClaimRequest): Promise<ClaimResult> {
    // Left by an attempt whose result never reached the workflow; its rows are taken over below.
    for (const token of batches.keys()) if (!openTokens.includes(token)) batches.delete(token);
    if (deps.stopping.aborted) return { kind: 'idle', timings };
    const away = await broker.ready();
    if (away !== null) return { kind: 'away', reason: away, queue: deps.ownQueue, timings };

    const token = await bumpFence(db);
    // Each statement before the first row delays the events that came in between two claims. Rows are left behind by
    // a claim that failed, which the next one knows of, or by something that is gone, which can wait for a moment.
    if (untidy || Context.current().info.attempt > 1 || performance.now() - lastTidied >= config.relay.pollMs) {
      lastTidied = performance.now();
      await tidy(token, openTokens);
    }

    const batch = new Batch(token, broker, publishMetrics);
    const signal = AbortSignal.any([deps.stopping, Context.current().cancellationSignal]);
    try {
      const why = await collect({ db, broker, wake: deps.wake, relay: config.relay, lastProbe }, batch, signal);
      // Under a backlog the next claim is worth more than the last outcomes, which `publish` collects anyway.
      if (why !== 'full' || deps.stopping.aborted) await settledOr(batch, settleMs());
      if (batch.rows === 0)
        return why === 'broker away'
          ? { kind: 'away', reason: (await broker.ready()) ?? 'the broker was away', queue: deps.ownQueue, timings }
          : { kind: 'idle', timings };
      if (why === 'superseded' || deps.stopping.aborted) {
        if (why === 'superseded')
          logger.warn(
            { token, rows: batch.rows },
            'A newer claim has begun elsewhere: this one settles its rows and ends',
          );
        return {
          kind: 'ended',
          rows: batch.rows,
          settled: await release(batch, why === 'superseded' ? why : STOPPING),
          lagMs: batch.lagMs,
          timings,
        };
      }
    } catch (error) {
      // The next attempt takes the rest over; what is acknowledged need not be published again.
      if (batch.rows > 0) await release(batch, 'failed').catch(() => undefined);
      throw error;
    } finally {
      metrics?.rowsClaimed(batch.rows);
    }
    batches.set(token, batch);
    return { kind: 'batch', token, queue: deps.ownQueue, rows: batch.rows, lagMs: batch.lagMs, timings };
  }

  /** For a claim that ends early. @param ended why, as its line says */
  async function release(batch: Batch, ended: string): Promise<Settled> {
    const settled = await releaseBatch(db, batch);
    const outcome = batch.outcome();
    publishMetrics?.passPublished(outcome);
    metrics?.settled(settled);
    logger.info({ ...countsOf(batch.token, outcome, settled), ended }, PASS);
    return settled;
  }

  /** On a stop, handlers that run get the grace to end; what they did not begin is back already. */
  function settleMs(): number {
    return config.backend === 'db' && deps.stopping.aborted
      ? SETTLE_PART * config.worker.shutdownGraceMs
      : config.relay.settleMs;
  }

  /** Frees what claims before this one have left behind. */
  async function tidy(token: string, openTokens: readonly string[]): Promise<void> {
    const taken = await takeOver(db, token, openTokens);
    metrics?.rowsTakenOver(taken);
    if (taken > 0)
      logger.warn(
        { rows: taken, token },
        'Took over rows of a claim that is gone; they are published again under the same ids',
      );
    const reclaimed = await reclaimLeases(db, config.relay.leaseMs, openTokens);
    metrics?.rowsTakenOver(reclaimed);
    if (reclaimed > 0) logger.warn({ rows: reclaimed }, 'Freed rows whose lease was over');
  }

  async function publish(token: string): Promise<BatchOutcome> {
    let batch = batches.get(token);
    if (!batch) {
      batch = new Batch(token, broker, publishMetrics);
      const { events, bytes } = await readClaimed(db, token);
      if (events.length > 0) batch.add(events, bytes);
    }
    await batch.settled();
    let outcome = batch.outcome();
    // The relay waits for a broker that is away now, not for one that was for a moment.
    if (outcome.away !== null) outcome = { ...outcome, away: await broker.ready() };
    batches.delete(token);
    publishMetrics?.passPublished(outcome);
    return outcome;
  }

  /** One line for each pass that had events: what was published, what became of the rows, and the first reason why not. */
  function report(token: string, outcome: BatchOutcome, settled: Settled): void {
    const exceptions = outcome.exceptions.filter(({ write }) => write !== 'retry');
    const [first] = exceptions;
    const rows = exceptions.reduce((sum, { ids }) => sum + ids.length, 0);
    const counts = countsOf(token, outcome, settled);
    // Its claim ended early, and settled and told all of it.
    if (outcome.published === 0 && outcome.exceptions.length === 0) return;
    if (!first) return logger.info(counts, PASS);
    const fields = { ...counts, notPublished: rows, reason: first.reason };
    // A probe says again what was said when its row was deferred.
    if (exceptions.every(({ write }) => write === 'put back')) logger.debug(fields, 'A probe failed');
    else logger.warn(fields, 'Not all events of this pass could be published');
  }

  async function mark(token: string, outcome: BatchOutcome): Promise<Settled> {
    const settled = await writeOutcome(db, token, outcome, config.relay);
    metrics?.settled(settled);
    report(token, outcome, settled);
    if (settled.lost > 0)
      logger.warn({ token, rows: settled.lost }, 'Rows were taken over by another claim, which settles them');
    return settled;
  }

  /** Ends every claim that is still at work somewhere: from now on it takes nothing. */
  async function fence(): Promise<void> {
    await bumpFence(db);
  }

  const activities = {
    claim: heartbeating((request: ClaimRequest) =>
      metrics ? metrics.duringClaim(() => claim(request)) : claim(request),
    ),
    fence: heartbeating(fence),
    publish: heartbeating(publish),
    mark: heartbeating(mark),
    ...createReemitActivities(deps),
  };

  /** For a worker that stops: settles what it has claimed and nobody has collected. */
  async function releaseAll(): Promise<void> {
    for (const [token, batch] of batches) {
      batches.delete(token);
      try {
        await release(batch, STOPPING);
      } catch (error) {
        // No reason to end in failure: what is not written now is taken over by the next claim.
        const reason = (error as Error).message;
        logger.warn(
          { token, rows: batch.rows, reason },
          'Could not be settled before stopping; the next claim does it',
        );
      }
    }
  }

  return { activities, releaseAll };
}

function countsOf(token: string, { published, duplicates }: BatchOutcome, settled: Settled) {
  return { token, published, duplicates, ...settled };
}

export type RelayActivities = ReturnType<typeof createRelayActivities>['activities'];

/** Cut short when the activity is cancelled: what is not settled then is settled by `publish`, or by the release. */
async function settledOr(batch: Batch, ms: number): Promise<void> {
  const { cancelled } = Context.current();
  await Promise.race([within(ms, batch.settled()), cancelled.catch(() => undefined)]);
}
