import type { Config } from '../config';
import type { RelayTimings } from './outcome';

/** Batches of backend `db` that may wait for slow handlers while the next are collected. */
const OPEN_BATCHES = 32;

/** What is in hand waits for what is before it: four times the concurrency, and a little for its end. */
const TURNS = 6;

/** @param handlingMs the longest time-out of this worker's handlers */
export function timingsOf({ relay, nats, backend }: Config, handlingMs = 0): RelayTimings {
  return {
    ...(backend === 'db' && { handlingMs: TURNS * handlingMs, openBatches: OPEN_BATCHES }),
    longPollMs: relay.longPollMs,
    sliceMs: relay.sliceMs,
    settleMs: relay.settleMs,
    publishTimeoutMs: nats.publishTimeoutMs,
    heartbeatTimeoutMs: relay.heartbeatTimeoutMs,
    activityRetryMs: relay.activityRetryMs,
    ownQueueTimeoutMs: relay.ownQueueTimeoutMs,
    backoffFirstMs: relay.backoffFirstMs,
    backoffMaxMs: relay.backoffMaxMs,
    rollOverEvents: relay.rollOverEvents,
  };
}
