import { ApplicationFailure } from '@temporalio/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { retryBackoff } from '../backoff';
import type { Config } from '../config';
import { endAttempt, type Attempt, type AttemptEnd } from '../deliveries/attempt';
import { settleRow } from '../deliveries/settleRow';
import { failureName, failureText, type RedactFailure } from '../handlers/failureText';
import { tellAttempt, WORKER_LOST } from '../handlers/tellAttempt';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import { isOutage } from '../postgres/outage';
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
    await this.end(attempt, end);
    if (dead) throw this.failure('WorkerLost', { ...end, kind: 'dead' });
    return { kind: 'deferred', attempts, dueInMs, reason: WORKER_LOST };
  }

  /** Its next attempt is due on the shared schedule, unless this was the last. */
  async failed(attempt: Attempt, thrown: unknown): Promise<never> {
    const { config, redact } = this.deps;
    const { eventId, handler } = attempt;
    const attempts = attempt.attempts + 1;
    const dead = attempts >= config.maxAttempts;
    const reason = failureText(thrown, redact, { eventId, handler });
    const end = { attempts, dueInMs: dead ? 0 : this.backoff(attempts), reason, dead };
    await this.end(attempt, end);
    throw this.failure(failureName(thrown), { ...end, kind: dead ? 'dead' : 'failed' });
  }

  /** No attempt is spent. */
  async defer(attempt: Attempt, dueInMs: number, reason: string, why: Deferral): Promise<AttemptResult> {
    const { attempts, handler } = attempt;
    this.deps.metrics?.handlingDeferred(handler, why);
    await this.end(attempt, { attempts, dueInMs, reason, dead: false });
    return { kind: 'deferred', attempts, dueInMs, reason };
  }

  /** It can never fit: trying again would not help. */
  async bury(attempt: Attempt, reason: string): Promise<never> {
    const end = { attempts: attempt.attempts + 1, dueInMs: 0, reason, dead: true };
    await this.end(attempt, end);
    throw this.failure('Unfit', { ...end, kind: 'dead' });
  }

  /** While PostgreSQL is away the claim is kept: an end that is not written would count as a lost worker. */
  async patiently<T>(statement: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await statement();
      } catch (error) {
        if (!isOutage(error) || this.deps.ending.aborted) throw error;
        await sleep(PAUSE_MS, undefined, { signal: this.deps.ending }).catch(() => undefined);
      }
    }
  }

  private async end(attempt: Attempt, end: AttemptEnd): Promise<void> {
    const { db } = this.deps;
    const written = await this.patiently(() => endAttempt(db, attempt, end));
    if (end.dead) await settleRow(db, [attempt.eventId]);
    if (end.dead ? !written : end.attempts === attempt.attempts) return;
    const { eventId, eventType, handler } = attempt;
    tellAttempt(this.deps, { ...end, eventId, eventType, handler, attempt: end.attempts });
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
