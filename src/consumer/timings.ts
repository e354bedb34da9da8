import type { Config } from '../config';
import type { ConsumerTimings } from './outcome';

export function consumerTimingsOf({ relay, nats }: Config): ConsumerTimings {
  return {
    longPollMs: relay.longPollMs,
    sliceMs: relay.sliceMs,
    publishTimeoutMs: nats.publishTimeoutMs,
    heartbeatTimeoutMs: relay.heartbeatTimeoutMs,
    activityRetryMs: relay.activityRetryMs,
    ownQueueTimeoutMs: relay.ownQueueTimeoutMs,
    backoffFirstMs: relay.backoffFirstMs,
    backoffMaxMs: relay.backoffMaxMs,
    rollOverEvents: relay.rollOverEvents,
  };
}
