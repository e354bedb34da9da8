import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { ConsumerActivities } from '../activities/consumer';
import type { ConsumerTimings } from '../consumer/outcome';
import { LONGEST_SLICE } from '../relay/outcome';

/** Beyond what a step should need: a start-to-close time-out is the last resort, heartbeats find a lost worker sooner. */
const SLACK_MS = 30_000;
/**
 * After an outage of Temporal its SDK polls again within 10 s, give or take a fifth. A worker that is gone holds nobody up,
 * so its place may be kept for so long; one that is dropped would wait far longer.
 */
const POLLS_AGAIN_MS = 12_000;

/** The consumer's activities with their options, in one place. */
export function consumerStepsOf(timings: ConsumerTimings) {
  // Said although it is the documented default: left out, SDK 1.24 reports the cancellation at once, while the receive
  // goes on in its worker and takes messages after a pause had been confirmed.
  const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;
  const { heartbeatTimeoutMs: heartbeatTimeout } = timings;
  return {
    /** On the worker's own queue. Never retried: the next receive is a new one. */
    receive: (queue: string) =>
      proxyActivities<ConsumerActivities>({
        taskQueue: queue,
        scheduleToStartTimeout: timings.ownQueueTimeoutMs + POLLS_AGAIN_MS,
        startToCloseTimeout: timings.longPollMs + LONGEST_SLICE * timings.sliceMs + SLACK_MS,
        heartbeatTimeout,
        cancellationType,
        retry: { maximumAttempts: 1 },
        summary: 'receives and handles',
      }).receive,
    /** On the shared queue, until some worker has a broker. */
    acknowledge: proxyActivities<ConsumerActivities>({
      startToCloseTimeout: SLACK_MS,
      heartbeatTimeout,
      cancellationType,
      retry: {
        initialInterval: timings.activityRetryMs,
        backoffCoefficient: 2,
        maximumInterval: Math.max(2_000, timings.activityRetryMs),
      },
      summary: 'acknowledges what another worker could not',
    }).acknowledge,
  };
}
