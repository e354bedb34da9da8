import type { Config } from '../config';
import type { RelayTimings } from './outcome';

export function timingsOf({ relay, nats }: Config): RelayTimings {
  return {
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
