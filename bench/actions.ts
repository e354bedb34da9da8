import { loadConfig } from '../src/config';

/**
 * What a day costs in Temporal actions, by arithmetic from the defaults and from what docs/performance.md has measured.
 * docs/scaling.md shows these numbers; a test compares them.
 */
const { relay, handling, retention, maxAttempts } = loadConfig({});

const DAY_S = 86_400;
/** A pass ends after three slices, if the batch is not full before (docs/architecture.md, The way of an event). */
const LONGEST_PASS_S = (3 * relay.sliceMs) / 1_000;
/** The SDK lets a heartbeat through at 80 % of its time-out. */
const HEARTBEAT_S = (0.8 * relay.heartbeatTimeoutMs) / 1_000;
/** Measured at 100 events a second: 54 actions a minute over 10 passes, of which 3 are activities; the rest are heartbeats and roll-overs. */
const ACTIONS_OF_A_PASS = 5.4;
/** Measured. */
const IDLE_A_MINUTE = 16;
const ONE_A_SECOND_A_MINUTE = 42;
/** Measured: a start, three activities, and three that the schedule itself takes. */
const ACTIONS_OF_A_CLEAN_UP = 7;

/** Of the relay, at so many events a second of so many bytes. */
export function relayActions(eventsPerSecond: number, bytes = 400): number {
  if (eventsPerSecond === 0) return perDay(IDLE_A_MINUTE);
  if (eventsPerSecond <= 1) return perDay(ONE_A_SECOND_A_MINUTE);
  const full = Math.min(relay.batchSize, Math.floor(relay.batchBytes / bytes)) / eventsPerSecond;
  return (DAY_S / Math.min(LONGEST_PASS_S, full)) * ACTIONS_OF_A_PASS;
}

/** Of one more worker with handlers, backend `nats`: its receives, with their heartbeats. */
export function receiveActions(busy: boolean): number {
  if (!busy) return perDay(IDLE_A_MINUTE);
  return (DAY_S / LONGEST_PASS_S) * (1 + heartbeatsOf(LONGEST_PASS_S));
}

/** Of an event whose handler fails so many times, and then succeeds or is dead: start, signal, and each later attempt with its timer. */
export function failureActions(failures: number): number {
  const attempts = Math.min(failures + 1, maxAttempts);
  return 2 + 2 * (attempts - 1);
}

/** Of an event whose handler no worker has. */
export function missingHandlerActions(): number {
  return (DAY_S / (handling.missingHandlerMs / 1_000)) * 2;
}

/** Of the clean-up, whatever it removes: a part of half a minute is one activity, and its heartbeats. */
export function cleanUpActions(): number {
  return (DAY_S / (retention.everyMs / 1_000)) * ACTIONS_OF_A_CLEAN_UP;
}

/** Of a scraped worker while relay or consumer does not run: their state is kept for half a long poll. */
export function stateActions(): number {
  return DAY_S / (relay.longPollMs / 2 / 1_000);
}

/** From the first failure to the death, in seconds: attempts that take no time. */
export function secondsToDeath(): number {
  let seconds = 0;
  for (let n = 1; n < maxAttempts; n += 1) {
    seconds += Math.min(relay.backoffFirstMs * 2 ** (n - 1), relay.backoffMaxMs) / 1_000;
  }
  return seconds;
}

function heartbeatsOf(seconds: number): number {
  return 1 + Math.floor(seconds / HEARTBEAT_S);
}

function perDay(aMinute: number): number {
  return aMinute * 1_440;
}
