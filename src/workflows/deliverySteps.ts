import { ActivityCancellationType, proxyActivities, type ActivityOptions } from '@temporalio/workflow';
import type { AttemptResult, DeliveryTimings, SkipOrder } from './deliveryMessages';

/** Handlers have a time-out of their own, and heartbeats find a lost worker: this is only the last resort. */
const A_DAY_MS = 86_400_000;

interface DeliveryActivities {
  skip(request: SkipOrder): Promise<void>;
}

interface AttemptRequest {
  readonly eventId: string;
  /** Spent so far: a worker that is given it late sees that another has been made in its place. */
  readonly attempts: number;
}

/** A delivery run's activities with their options, in one place. */
export function deliveryStepsOf(timings: DeliveryTimings) {
  const common: ActivityOptions = {
    heartbeatTimeout: timings.heartbeatTimeoutMs,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    // Eager, an attempt would go to the worker that holds the run, each time again, also when that one lacks the handler.
    allowEagerDispatch: false,
  };
  return {
    /** Named after the handler. Once: the workflow counts attempts and waits between them. */
    attempt: (handler: string, request: AttemptRequest, summary: string): Promise<AttemptResult> => {
      const activities = proxyActivities<Record<string, (request: AttemptRequest) => Promise<AttemptResult>>>({
        ...common,
        startToCloseTimeout: A_DAY_MS,
        retry: { maximumAttempts: 1 },
        summary,
      });
      const activity = activities[handler];
      if (!activity) throw new Error(`there is no activity ${handler}`);
      return activity(request);
    },
    skip: proxyActivities<DeliveryActivities>({
      ...common,
      startToCloseTimeout: 60_000,
      retry: { initialInterval: timings.activityRetryMs, backoffCoefficient: 2, maximumInterval: 2_000 },
      summary: 'gives a handler up on purpose',
    }).skip,
  };
}
