import { beginAttempt, finishAttempt, type Attempt } from '../deliveries/attempt';
import { readDeliveryEvent } from '../deliveries/deliveredEvent';
import { settleRow } from '../deliveries/settleRow';
import type { Handler } from '../handlers/defineHandler';
import { newerVersion, readEvent } from '../handlers/readEvent';
import type { HandlerRegistry } from '../handlers/registry';
import { endingGraceMs, runHandler, type RunResult } from '../handlers/runHandler';
import type { Seats } from '../handlers/seats';
import { ConnectionLostError, inTransaction, MAX_LOST_CONNECTIONS, RollBack } from '../handlers/transaction';
import type { Leases, Loss } from '../ledger/leases';
import { readClaim } from '../ledger/read';
import { HandlerSpans } from '../tracing/handlerSpans';
import type { AttemptResult } from '../workflows/deliveryMessages';
import { AttemptEnds, stillWaiting, type AttemptEndsDeps } from './attemptEnds';

export interface DeliveryDeps extends AttemptEndsDeps {
  readonly registry: HandlerRegistry;
  readonly leases: Leases;
  /** Nothing more begins. */
  readonly stopping: AbortSignal;
  readonly transactions: Seats;
}

export interface AttemptRequest {
  readonly eventId: string;
  /** Spent so far, as the run knows it. Absent in runs of an older build. */
  readonly attempts?: number;
}

/**
 * One attempt of a delivery run. The ledger is claimed, the handler entered, and what became of it written, before the
 * workflow hears of it: an answer that is lost changes nothing.
 */
export class Deliverer {
  private readonly spans: HandlerSpans;
  private readonly ends: AttemptEnds;

  constructor(private readonly deps: DeliveryDeps) {
    this.spans = new HandlerSpans(deps.config, deps.redact);
    this.ends = new AttemptEnds(deps);
  }

  async attempt(handlerName: string, { eventId, attempts: expected }: AttemptRequest): Promise<AttemptResult> {
    const { db, config } = this.deps;
    const since = performance.now();
    const key = { eventId, handler: handlerName };
    const beginning = await beginAttempt(db, key, config.handling, expected);
    switch (beginning.kind) {
      case 'over':
        return this.ends.asItIs(key, expected === undefined ? {} : { attempts: expected + 1 });
      case 'held': {
        const reason = 'another worker is at work on it';
        this.deps.metrics?.handlingDeferred(handlerName, 'held elsewhere');
        return { kind: 'deferred', attempts: beginning.attempts, dueInMs: beginning.forMs, reason };
      }
      case 'behind':
        return stillWaiting(beginning);
      case 'lost':
        return this.ends.lost({ ...key, ...beginning }, beginning.sinceMs);
      case 'begun': {
        const { startedAt, attempts, eventType } = beginning;
        const attempt = { ...key, startedAt, attempts, eventType };
        const loss = this.deps.leases.hold(attempt, since);
        try {
          return await this.run(attempt, loss);
        } finally {
          this.deps.leases.letGo(attempt);
        }
      }
    }
  }

  private async run(attempt: Attempt, loss: Loss): Promise<AttemptResult> {
    const { db, config, registry, metrics } = this.deps;
    const { eventId, handler: name } = attempt;
    const handler = registry.get(name);
    if (!handler) {
      const reason = `no worker here has a handler ${name}`;
      return this.ends.defer(attempt, config.handling.missingHandlerMs, reason, 'no handler');
    }
    const record = await this.ends.patiently(() => readDeliveryEvent(db, attempt));
    const readAt = performance.now();
    if (!record) return this.ends.bury(attempt, 'its body is neither in the outbox nor copied any more');
    const reading = await readEvent(handler, record);
    if (reading.kind === 'newer')
      return this.ends.defer(attempt, config.handling.newerVersionMs, newerVersion(reading), 'newer version');
    if (reading.kind === 'unfit') return this.ends.bury(attempt, reading.reason);

    const enter = async (tx?: Parameters<typeof runHandler>[2]['tx']): Promise<RunResult> =>
      this.deps.stopping.aborted
        ? { kind: 'interrupted', ended: true }
        : runHandler(handler, reading.event, {
            attempt: attempt.attempts + 1,
            ...(tx && { tx }),
            ending: this.deps.ending,
            endingGraceMs: endingGraceMs(config),
            ...{ loss, metrics, spans: this.spans },
          });
    const result = handler.transactional
      ? await this.deps.transactions.with(() => this.inTransaction(handler, attempt, enter))
      : await enter();
    if (result.kind === 'not entered') return this.ends.defer(attempt, 0, result.reason, 'held elsewhere');
    if (result.kind === 'interrupted' && !result.ended && !handler.transactional) {
      // It still runs: its claim stays until its lease is over, and the next attempt waits for that.
      const reason = 'the worker stopped while it ran this handler, which did not end';
      return { kind: 'deferred', attempts: attempt.attempts, dueInMs: config.handling.leaseMs, reason };
    }
    if (result.kind === 'interrupted')
      return this.ends.defer(attempt, 0, 'the worker stopped before this handler had ended', 'worker stopping');
    if (result.kind === 'failed') return this.ends.failed(attempt, result.thrown);
    const ours =
      handler.transactional ||
      (await this.ends.patiently(() => finishAttempt((text, values) => db.query(text, values), attempt)));
    if (!ours) return { kind: 'deferred', attempts: attempt.attempts, dueInMs: 0, reason: 'its ledger claim was lost' };
    metrics?.handled(name, record.ageMs + performance.now() - readAt);
    await settleRow(db, [eventId]);
    return { kind: 'done' };
  }

  /** A connection that is lost is no failure of the handler: it runs again, as in the fast path. */
  private async inTransaction(
    handler: Handler,
    attempt: Attempt,
    enter: (tx: Parameters<typeof runHandler>[2]['tx']) => Promise<RunResult>,
  ): Promise<RunResult> {
    const { db, ending } = this.deps;
    for (let lostConnections = 0; ;) {
      let result: RunResult | undefined;
      try {
        await inTransaction(db, handler.timeoutMs, async ({ tx, run }) => {
          result = await enter(tx);
          if (result.kind !== 'ran') throw new RollBack('the handler failed');
          if (!(await finishAttempt(run, attempt))) throw new RollBack('a ledger claim was lost');
        });
        return { kind: 'ran' };
      } catch (error) {
        if (result?.kind === 'interrupted' || result?.kind === 'not entered') return result;
        const lost = error instanceof ConnectionLostError;
        if (result?.kind === 'failed' && !lost) return result;
        // The answer to a commit may have been lost, and the commit not.
        const claim = await this.ends.patiently(() => readClaim(db, attempt));
        if (claim === 'done') return { kind: 'ran' };
        if (claim === 'gone' || db.unprepare(error) || (lost && ending.aborted))
          return { kind: 'interrupted', ended: true };
        if (!lost || ++lostConnections >= MAX_LOST_CONNECTIONS) return { kind: 'failed', thrown: error };
      }
    }
  }
}
