import { activityInfo, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { retryBackoff } from '../backoff';
import type { Config } from '../config';
import {
  beginAttempt,
  endAttempt,
  finishAttempt,
  readDeliveryEvent,
  type Attempt,
  type AttemptEnd,
} from '../deliveries/attempt';
import { settleRow } from '../deliveries/settleRow';
import { skipDelivery } from '../deliveries/skip';
import type { Handler } from '../handlers/defineHandler';
import { failureName, failureText, type RedactFailure } from '../handlers/failureText';
import { endingGraceMs, EXHAUSTED, TRIED_AGAIN, WORKER_LOST } from '../handlers/lane';
import { newerVersion, readEvent } from '../handlers/readEvent';
import type { HandlerRegistry } from '../handlers/registry';
import { runHandler, type RunResult } from '../handlers/runHandler';
import type { Seats } from '../handlers/seats';
import { inTransaction, RollBack } from '../handlers/transaction';
import { readClaim } from '../ledger/read';
import type { Leases, Loss } from '../ledger/leases';
import type { EventFields, Logger } from '../logger';
import type { Database } from '../postgres/database';
import { isOutage } from '../postgres/outage';
import type { Deferral } from '../telemetry/counters';
import type { Metrics } from '../telemetry/metrics';
import { HandlerSpans } from '../tracing/handlerSpans';
import type { AttemptFailure, AttemptResult, SkipOrder } from '../workflows/deliveryMessages';
import { heartbeating } from './heartbeating';

export interface DeliveryDeps {
  readonly db: Database;
  readonly config: Config;
  readonly registry: HandlerRegistry;
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

const PAUSE_MS = 500;

interface Request {
  readonly eventId: string;
}

interface AttemptRequest extends Request {
  /** Spent so far, as the run knows it. Absent in runs of an older build. */
  readonly attempts?: number;
}

/**
 * One attempt of a delivery run. The ledger is claimed, the handler entered, and what became of it written, before the
 * workflow hears of it: an answer that is lost changes nothing.
 */
class Deliverer {
  private readonly spans: HandlerSpans;

  constructor(private readonly deps: DeliveryDeps) {
    this.spans = new HandlerSpans(deps.config, deps.redact);
  }

  async attempt(handlerName: string, { eventId, attempts: expected }: AttemptRequest): Promise<AttemptResult> {
    const { db, config } = this.deps;
    const since = performance.now();
    const key = { eventId, handler: handlerName };
    const beginning = await beginAttempt(db, key, config.handling, expected);
    switch (beginning.kind) {
      case 'over':
        await settleRow(db, [eventId]);
        return { kind: 'done' };
      case 'held': {
        const reason = 'another worker is at work on it';
        this.deps.metrics?.handlingDeferred(handlerName, 'held elsewhere');
        return { kind: 'deferred', attempts: beginning.attempts, dueInMs: beginning.forMs, reason };
      }
      case 'behind': {
        const { attempts, dueInMs, reason } = beginning;
        return { kind: 'deferred', attempts, dueInMs, reason: reason ?? 'another attempt was made meanwhile' };
      }
      case 'lost':
        return this.countLost({ ...key, ...beginning }, beginning.sinceMs);
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

  /** A lost worker is an attempt; the next is due by the time since its last sign of life. */
  private async countLost(attempt: Attempt, sinceMs: number): Promise<AttemptResult> {
    this.deps.metrics?.ledgerClaimTakenOver();
    const attempts = attempt.attempts + 1;
    const dueInMs = Math.max(0, this.backoff(attempts) - sinceMs);
    const dead = attempts >= this.deps.config.maxAttempts;
    const end = { attempts, dueInMs, reason: WORKER_LOST, dead };
    await this.end(attempt, end);
    if (dead) throw this.failure('WorkerLost', { ...end, kind: 'dead' });
    this.deps.logger.info(
      { ...aboutOf(attempt, attempts), reason: WORKER_LOST, dueInMs: Math.round(dueInMs) },
      TRIED_AGAIN,
    );
    return { kind: 'deferred', attempts, dueInMs, reason: WORKER_LOST };
  }

  private async run(attempt: Attempt, loss: Loss): Promise<AttemptResult> {
    const { db, config, registry, redact, metrics } = this.deps;
    const { eventId, handler: name } = attempt;
    const handler = registry.get(name);
    if (!handler) {
      const reason = `no worker here has a handler ${name}`;
      return this.defer(attempt, config.handling.missingHandlerMs, reason, 'no handler');
    }
    const record = await readDeliveryEvent(db, attempt);
    const readAt = performance.now();
    if (!record) return this.bury(attempt, 'its body is neither in the outbox nor copied any more');
    const reading = await readEvent(handler, record);
    if (reading.kind === 'newer')
      return this.defer(attempt, config.handling.newerVersionMs, newerVersion(reading), 'newer version');
    if (reading.kind === 'unfit') return this.bury(attempt, reading.reason);

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
    if (result.kind === 'interrupted' && !result.ended && !handler.transactional) {
      // It still runs: its claim stays until its lease is over, and the next attempt waits for that.
      const reason = 'the worker stopped while it ran this handler, which did not end';
      return { kind: 'deferred', attempts: attempt.attempts, dueInMs: config.handling.leaseMs, reason };
    }
    if (result.kind === 'interrupted')
      return this.defer(attempt, 0, 'the worker stopped before this handler had ended', 'worker stopping');
    if (result.kind === 'failed') {
      const attempts = attempt.attempts + 1;
      const dead = attempts >= config.maxAttempts;
      const reason = failureText(result.thrown, redact, { eventId, handler: name });
      const end = { attempts, dueInMs: dead ? 0 : this.backoff(attempts), reason, dead };
      await this.end(attempt, end);
      if (!dead) this.deps.logger.info({ ...aboutOf(attempt, attempts), reason, dueInMs: end.dueInMs }, TRIED_AGAIN);
      throw this.failure(failureName(result.thrown), { ...end, kind: dead ? 'dead' : 'failed' });
    }
    const ours =
      handler.transactional ||
      (await this.patiently(() => finishAttempt((text, values) => db.query(text, values), attempt)));
    if (!ours) return { kind: 'deferred', attempts: attempt.attempts, dueInMs: 0, reason: 'its ledger claim was lost' };
    metrics?.handled(name, record.ageMs + performance.now() - readAt);
    await settleRow(db, [eventId]);
    return { kind: 'done' };
  }

  private async inTransaction(
    handler: Handler,
    attempt: Attempt,
    enter: (tx: Parameters<typeof runHandler>[2]['tx']) => Promise<RunResult>,
  ): Promise<RunResult> {
    const { db } = this.deps;
    let result: RunResult | undefined;
    try {
      await inTransaction(db, handler.timeoutMs, async ({ tx, run }) => {
        result = await enter(tx);
        if (result.kind !== 'ran') throw new RollBack('the handler failed');
        if (!(await finishAttempt(run, attempt))) throw new RollBack('a ledger claim was lost');
      });
      return { kind: 'ran' };
    } catch (error) {
      if (result && result.kind !== 'ran') return result;
      // The answer to a commit may have been lost, and the commit not.
      const claim = await this.patiently(() => readClaim(db, attempt));
      if (claim === 'done') return { kind: 'ran' };
      if (claim === 'gone' || db.unprepare(error)) return { kind: 'interrupted', ended: true };
      return { kind: 'failed', thrown: error };
    }
  }

  private async defer(attempt: Attempt, dueInMs: number, reason: string, why: Deferral): Promise<AttemptResult> {
    const { attempts, handler } = attempt;
    this.deps.metrics?.handlingDeferred(handler, why);
    await this.end(attempt, { attempts, dueInMs, reason, dead: false });
    return { kind: 'deferred', attempts, dueInMs, reason };
  }

  private async bury(attempt: Attempt, reason: string): Promise<never> {
    const end = { attempts: attempt.attempts + 1, dueInMs: 0, reason, dead: true };
    await this.end(attempt, end);
    throw this.failure('Unfit', { ...end, kind: 'dead' });
  }

  private async end(attempt: Omit<Attempt, 'attempts'>, end: AttemptEnd): Promise<void> {
    const { db, logger, metrics } = this.deps;
    const written = await this.patiently(() => endAttempt(db, attempt, end));
    if (!end.dead) return;
    await settleRow(db, [attempt.eventId]);
    if (!written) return;
    metrics?.handlerExhausted(attempt.handler);
    logger.error({ ...aboutOf(attempt, end.attempts), reason: end.reason }, EXHAUSTED);
  }

  /** While PostgreSQL is away the claim is kept: an end that is not written would count as a lost worker. */
  private async patiently<T>(statement: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await statement();
      } catch (error) {
        if (!isOutage(error) || this.deps.ending.aborted) throw error;
        await sleep(PAUSE_MS, undefined, { signal: this.deps.ending }).catch(() => undefined);
      }
    }
  }

  private backoff(attempts: number): number {
    const { backoffFirstMs, backoffMaxMs } = this.deps.config.relay;
    return retryBackoff(attempts, backoffFirstMs, backoffMaxMs);
  }

  /** Shown in the Temporal UI; not retried there, as the workflow waits on the shared schedule. */
  private failure(type: string, { kind, attempts, dueInMs, reason }: AttemptFailure): ApplicationFailure {
    return ApplicationFailure.create({
      message: reason.slice(0, 500),
      type,
      nonRetryable: true,
      details: [{ kind, attempts, dueInMs, reason: reason.slice(0, 500) }],
    });
  }
}

function aboutOf({ eventId, eventType, handler }: Omit<Attempt, 'attempts'>, attempt: number): EventFields {
  return { eventId, eventType, handler, attempt };
}

/** An activity for each handler, and one for handlers that this worker lacks. */
export function createDeliveryActivities(deps: DeliveryDeps) {
  const deliverer = new Deliverer(deps);
  const activities: Record<string, (request: AttemptRequest) => Promise<AttemptResult>> = {};
  for (const name of deps.registry.names)
    activities[name] = heartbeating((request: AttemptRequest) => deliverer.attempt(name, request));
  return {
    ...activities,
    default: heartbeating((request: AttemptRequest) => deliverer.attempt(activityInfo().activityType, request)),
    skip: heartbeating((order: SkipOrder) => skip(deps, order)),
  };
}

/** Waits for an attempt that is under way: its effect may come about, and then there is nothing to give up. */
async function skip(
  { db, config, logger }: DeliveryDeps,
  { eventId, eventType, handler, attempts, reason }: SkipOrder,
): Promise<void> {
  let result = await skipDelivery(db, eventId, handler, reason, config.handling);
  while (result === 'running') {
    heartbeat();
    await sleep(PAUSE_MS);
    result = await skipDelivery(db, eventId, handler, reason, config.handling);
  }
  await settleRow(db, [eventId]);
  const about = { eventId, eventType, handler, attempt: attempts, reason };
  if (result === 'skipped') logger.info(about, 'A handler was skipped on purpose');
  else logger.info(about, `A skip came too late: ${result}`);
}
