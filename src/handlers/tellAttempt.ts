import type { EventFields, Logger } from '../logger';
import type { Metrics } from '../telemetry/metrics';

export const WORKER_LOST = 'the worker was lost while it ran this handler';
/** Alerts are built on it, whoever writes it: see docs/operations.md. */
export const EXHAUSTED = 'event exhausted max deliveries';
const TRIED_AGAIN = 'A handler failed and is tried again';

/** An attempt that was spent without success. */
export interface SpentAttempt extends EventFields {
  readonly reason: string | null;
  /** It was the last. */
  readonly dead?: boolean;
  /** Until the next, in milliseconds. */
  readonly dueInMs: number;
}

/**
 * Log and metrics say the same of an attempt whether the fast path or a delivery run made it. A failure that is tried
 * again is no warning: it is what retries are for, and a service that is down for a minute fails thousands.
 */
export function tellAttempt(
  { logger, metrics }: { readonly logger: Logger; readonly metrics?: Metrics | undefined },
  { eventId, eventType, handler, attempt, reason, dead, dueInMs }: SpentAttempt,
): void {
  const about: EventFields = { eventId, eventType, handler, attempt };
  if (dead) {
    metrics?.handlerExhausted(handler);
    logger.error({ ...about, reason }, EXHAUSTED);
  } else logger.info({ ...about, reason, dueInMs: Math.round(dueInMs) }, TRIED_AGAIN);
}
