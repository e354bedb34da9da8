import type { Config } from '../config';
import { consumerTimingsOf } from '../consumer/timings';
import type { RelayTimings } from './outcome';

/** Batches of backend `db` that may wait for slow handlers while the next are collected. */
const OPEN_BATCHES = 32;

/** What is in hand waits for what is before it: four times the concurrency, and a little for its end. */
const TURNS = 6;

/** @param handlingMs the longest time-out of this worker's handlers */
export function timingsOf(config: Config, handlingMs = 0): RelayTimings {
  return {
    ...(config.backend === 'db' && { handlingMs: TURNS * handlingMs, openBatches: OPEN_BATCHES }),
    ...consumerTimingsOf(config),
    settleMs: config.relay.settleMs,
  };
}
