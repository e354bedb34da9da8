import { ActivityCancellationType, proxyActivities, type ActivityOptions } from '@temporalio/workflow';
import type { RelayActivities } from '../activities/relay';
import { LONGEST_SLICE, type RelayTimings } from '../relay/outcome';

/** Beyond what a step should need: a start-to-close time-out is the last resort, heartbeats find a lost worker sooner. */
const SLACK_MS = 30_000;

/** Of this run: the SDK gives each its own copy of every module. */
let reemits = 0;

/** A re-emit is under way, whoever asked for it. Signals, which end in the task that they come with, are none. */
export function isReemitting(): boolean {
  return reemits > 0;
}

/** Hands on the step's own promise: one of ours would end later, and old histories would have their commands in another order. */
function counted<Args extends unknown[], Result>(step: (...args: Args) => Promise<Result>) {
  return (...args: Args): Promise<Result> => {
    const ended = () => void reemits--;
    reemits++;
    const result = step(...args);
    result.then(ended, ended);
    return result;
  };
}

/** The relay's activities with their options, in one place. Retried for ever: an outage ends, and rows must not be dropped. */
export function stepsOf(timings: RelayTimings) {
  const patient: ActivityOptions = {
    heartbeatTimeout: timings.heartbeatTimeoutMs,
    // Said although it is the documented default: left out, SDK 1.24 reports the cancellation at once, while the claim
    // goes on in its worker and publishes after a pause had been confirmed.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    // Two seconds at most: whatever was away is noticed soon after it is back.
    retry: {
      initialInterval: timings.activityRetryMs,
      backoffCoefficient: 2,
      maximumInterval: Math.max(2_000, timings.activityRetryMs),
    },
  };
  const publishing = timings.settleMs + 2 * timings.publishTimeoutMs + (timings.handlingMs ?? 0) + SLACK_MS;
  return {
    claim: proxyActivities<RelayActivities>({
      ...patient,
      startToCloseTimeout: timings.longPollMs + LONGEST_SLICE * timings.sliceMs + publishing,
      summary: 'collects due events and publishes them as they come',
    }).claim,
    fence: proxyActivities<RelayActivities>({
      ...patient,
      startToCloseTimeout: SLACK_MS,
      summary: 'ends a claim that gave no result',
    }).fence,
    /** On the claiming worker's own queue; fails fast when that worker is gone. */
    collectOutcomes: (queue: string) =>
      proxyActivities<RelayActivities>({
        taskQueue: queue,
        scheduleToStartTimeout: timings.ownQueueTimeoutMs,
        startToCloseTimeout: publishing,
        heartbeatTimeout: timings.heartbeatTimeoutMs,
        retry: { maximumAttempts: 1 },
        summary: 'collects the outcomes',
      }).publish,
    publishAgain: proxyActivities<RelayActivities>({
      ...patient,
      startToCloseTimeout: publishing,
      summary: 'the claiming worker is gone: publishes its rows under the same ids',
    }).publish,
    mark: proxyActivities<RelayActivities>({
      ...patient,
      startToCloseTimeout: 2 * SLACK_MS,
      summary: 'writes the outcomes',
    }).mark,
    reemit: counted(
      proxyActivities<RelayActivities>({
        ...patient,
        startToCloseTimeout: 2 * SLACK_MS,
        summary: 'revives dead letters',
      }).reemit,
    ),
    reemitAll: counted(
      proxyActivities<RelayActivities>({
        ...patient,
        startToCloseTimeout: 3_600_000,
        summary: 'revives dead letters',
      }).reemitAll,
    ),
  };
}
