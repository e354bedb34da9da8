import { ApplicationFailure } from '@temporalio/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { retryBackoff } from '../backoff';
import type { Config } from '../config';
import { endAttempt, type Attempt, type AttemptEnd, type DeliveryKey } from '../deliveries/attempt';
import { readDeliveryState, type DeliveryState } from '../deliveries/readState';
import { settleRow } from '../deliveries/settleRow';
import { failureName, failureText, type RedactFailure } from '../handlers/failureText';
import { tellAttempt, WORKER_LOST } from '../handlers/tellAttempt';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import { isOutage, isWithheld } from '../postgres/outage';
import type { Deferral } from '../telemetry/counters';
import type { Metrics } from '../telemetry/metrics';
import type { AttemptFailure, AttemptResult } from '../workflows/deliveryMessages';

export interface AttemptEndsDeps {
  readonly db: Database;
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  readonly redact?: RedactFailure | undefined;
  /** The grace is nearly over: what runs is cut short. */
  readonly ending: AbortSignal;
}

const PAUSE_MS = 500;

/** Writes what becomes of an attempt that had no success, tells it, and makes of it what the workflow is told. */
export class AttemptEnds {
  constructor(private readonly deps: AttemptEndsDeps) {}

  /** A lost worker is an attempt; the next is due by the time since its last sign of life. */
  async lost(attempt: Attempt, sinceMs: number): Promise<AttemptResult> {
    this.deps.metrics?.ledgerClaimTakenOver();
    const attempts = attempt.attempts + 1;
    const dueInMs = Math.max(0, this.backoff(attempts) - sinceMs);
    const dead = attempts >= this.deps.config.maxAttempts;
    const end = { attempts, dueInMs, reason: WORKER_LOST, dead };
    const otherwise = await this.end(attempt, end);
    if (otherwise) return otherwise;
    if (dead) throw this.failure('WorkerLost', { ...end, kind: 'dead' });
    return { kind: 'deferred', attempts, dueInMs, reason: WORKER_LOST };
  }

  /** Its next attempt is due on the shared schedule, unless this was the last. */
  async failed(attempt: Attempt, thrown: unknown): Promise<AttemptResult> {
    const { config, redact } = this.deps;
    const { eventId, handler } = attempt;
    const attempts = attempt.attempts + 1;
    const dead = attempts >= config.maxAttempts;
    const reason = failureText(thrown, redact, { eventId, handler });
    const end = { attempts, dueInMs: dead ? 0 : this.backoff(attempts), reason, dead };
    const otherwise = await this.end(attempt, end);
    if (otherwise) return otherwise;
    throw this.failure(failureName(thrown), { ...end, kind: dead ? 'dead' : 'failed' });
  }

  /** No attempt is spent. */
  async defer(attempt: Attempt, dueInMs: number, reason: string, why: Deferral): Promise<AttemptResult> {
    const { attempts, handler } = attempt;
    this.deps.metrics?.handlingDeferred(handler, why);
    const otherwise = await this.end(attempt, { attempts, dueInMs, reason, dead: false });
    return otherwise ?? { kind: 'deferred', attempts, dueInMs, reason };
  }

  /** It can never fit: trying again would not help. */
  async bury(attempt: Attempt, reason: string): Promise<AttemptResult> {
    const end = { attempts: attempt.attempts + 1, dueInMs: 0, reason, dead: true };
    const otherwise = await this.end(attempt, end);
    if (otherwise) return otherwise;
    throw this.failure('Unfit', { ...end, kind: 'dead' });
  }

  /**
   * For what is not ours to end: what has become of it. A dead letter is told by whoever wrote it, and here only when that
   * may be our own doing, as the answer of the statement, or of the activity that sent it, was lost: nobody knows whether
   * it was told.
   *
   * @param ours what we would have written; what is left out is not known
   */
  async asItIs(key: DeliveryKey, ours: Partial<Pick<AttemptEnd, 'attempts' | 'reason'>>): Promise<AttemptResult> {
    const { db } = this.deps;
    const found = await this.patiently(() => readDeliveryState(db, key));
    if (found?.state === 'waiting') return stillWaiting(found);
    await settleRow(db, [key.eventId]);
    if (found?.state !== 'dead') return { kind: 'done' };
    const { attempts, eventType } = found;
    const reason = found.reason ?? 'no reason was kept';
    if ((ours.attempts ?? attempts) === attempts && (ours.reason ?? reason) === reason)
      tellAttempt(this.deps, { ...key, eventType, attempt: attempts, reason, dead: true, dueInMs: 0 });
    throw this.failure('DeadLetter', { kind: 'dead', attempts, dueInMs: 0, reason });
  }

  /**
   * While PostgreSQL is away, or an operator has to mend it, the claim is kept: what is not read or written would count as
   * a lost worker, and spend an attempt that nobody made.
   */
  async patiently<T>(statement: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await statement();
      } catch (error) {
        if (!(isOutage(error) || isWithheld(error)) || this.deps.ending.aborted) throw error;
        await sleep(PAUSE_MS, undefined, { signal: this.deps.ending }).catch(() => undefined);
      }
    }
  }

  /** @returns what has become of it otherwise, when the claim is not ours any more */
  private async end(attempt: Attempt, end: AttemptEnd): Promise<AttemptResult | undefined> {
    const { db } = this.deps;
    const { eventId, eventType, handler } = attempt;
    if (!(await this.patiently(() => endAttempt(db, attempt, end)))) return this.asItIs({ eventId, handler }, end);
    if (end.dead) await settleRow(db, [eventId]);
    if (end.attempts > attempt.attempts)
      tellAttempt(this.deps, { ...end, eventId, eventType, handler, attempt: end.attempts });
    return undefined;
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

/** The answer to an attempt that was none: what its delivery waits for, as it is written. */
export function stillWaiting({
  attempts,
  dueInMs,
  reason,
}: Pick<DeliveryState, 'attempts' | 'dueInMs' | 'reason'>): AttemptResult {
  return { kind: 'deferred', attempts, dueInMs, reason: reason ?? 'another attempt was made meanwhile' };
}
