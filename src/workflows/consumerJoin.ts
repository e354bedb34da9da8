import { log } from '@temporalio/workflow';
import type { ConsumerTimings } from '../consumer/outcome';
import type { JoinRequest } from './consumerMessages';

/** Time-outs of an activity, and waits: 0 would be refused, and fail the workflow task for ever, or make a loop spin. */
const POSITIVE: readonly (keyof ConsumerTimings)[] = [
  'longPollMs',
  'sliceMs',
  'publishTimeoutMs',
  'heartbeatTimeoutMs',
  'activityRetryMs',
  'ownQueueTimeoutMs',
  'backoffFirstMs',
  'backoffMaxMs',
];
const MAX_MS = 2_147_483_647;
/** Temporal takes 1,000 bytes. A character of JavaScript is 3 of UTF-8 at most. */
const MAX_QUEUE = 333;

/** What a `join` signal says; `undefined`, with a line in the log, for whatever else was sent. */
export function readJoin(input: unknown): JoinRequest | undefined {
  const { queue, timings } = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>;
  // By its form only: a replay runs on a queue of another name, and would decide differently. Nobody answers on a queue
  // that no worker has, and the consumer forgets it.
  if (!isQueue(queue)) {
    log.warn('A join signal was ignored: its queue is none of a worker');
    return undefined;
  }
  const read = readTimings(timings);
  if (!read) {
    log.warn('A join signal was ignored: it has no usable timings');
    return undefined;
  }
  return { queue, timings: read };
}

/** A name that Temporal refuses, as one with a control character or half a character, would fail the workflow task for ever. */
function isQueue(given: unknown): given is string {
  if (typeof given !== 'string' || given.length > MAX_QUEUE) return false;
  return /^[^/].*\/[^/]+$/.test(given) && !/\p{Cc}/u.test(given) && given.isWellFormed();
}

function readTimings(given: unknown): ConsumerTimings | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const timings = given as Record<string, unknown>;
  const whole = (name: string, min: number) => {
    const value = timings[name];
    return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= MAX_MS;
  };
  if (!POSITIVE.every((name) => whole(name, 1)) || !whole('rollOverEvents', 0)) return undefined;
  const names: readonly string[] = [...POSITIVE, 'rollOverEvents'];
  return Object.fromEntries(names.map((name) => [name, timings[name]])) as unknown as ConsumerTimings;
}
