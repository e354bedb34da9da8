import {
  type ConsumerInfo,
  DiscardPolicy,
  jetstreamManager,
  RetentionPolicy,
  type StreamInfo,
} from '@nats-io/jetstream';
import type { NatsConnection } from 'nats';

const TIMEOUT_MS = 5_000;
/** Codes of JetStream's answers: no such stream, no such consumer. */
const ABSENT: readonly unknown[] = [10059, 10014];

/** @returns undefined when there is no such stream */
export async function readStreamInfo(connection: NatsConnection, stream: string): Promise<StreamInfo | undefined> {
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: TIMEOUT_MS });
  return manager.streams.info(stream).catch(absent);
}

/** @returns undefined when there is no such consumer, nor stream */
export async function readConsumerInfo(
  connection: NatsConnection,
  stream: string,
  durable: string,
): Promise<ConsumerInfo | undefined> {
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: TIMEOUT_MS });
  return manager.consumers.info(stream, durable).catch(absent);
}

/** Names of all durables of a stream. */
export async function readDurables(connection: NatsConnection, stream: string): Promise<string[]> {
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: TIMEOUT_MS });
  const names: string[] = [];
  for await (const { config } of manager.consumers.list(stream))
    if (config.durable_name) names.push(config.durable_name);
  return names;
}

function absent(error: unknown): undefined {
  if (ABSENT.includes((error as { code?: unknown }).code)) return undefined;
  throw error;
}

/** How far two clocks may be apart, where it cannot be measured: servers older than 2.10 do not tell their time. */
export const CLOCKS_MS = 60_000;

/** Which published events a stream must still hold. Times are in milliseconds by the database's clock. */
export interface Keeping {
  /** It keeps what became due after this: a message is no older than that. */
  readonly dueAfterMs: number;
  /** It keeps what was published after this: before, there was no such stream. */
  readonly publishedAfterMs: number;
}

const NOTHING: Keeping = { dueAfterMs: Infinity, publishedAfterMs: Infinity };

/**
 * What the stream's limits let it keep, at the latest look. A message is stored between the time at which its event
 * became due and the one that the outbox has for its publishing, which is written later, and after an outage much later:
 * so what has an age is judged by the first of the two.
 *
 * @param info of a look that came after all reading, as limits go on dropping meanwhile
 * @param nowMs the database's time after that look. The broker's times are moved by the difference of the two clocks,
 *   at most: an event that is taken for too old is not judged, one that is taken for too young would be called lost.
 */
export function keepingOf({ config, state, created, ts }: StreamInfo, nowMs: number): Keeping {
  // What is acknowledged goes, or what a later message of its subject pushes out: any of them may be gone by right.
  if (config.retention !== RetentionPolicy.Limits || config.max_msgs_per_subject > 0) return NOTHING;
  const ahead = ts === undefined ? CLOCKS_MS : nowMs - Date.parse(ts);
  const maxAgeMs = Number(config.max_age) / 1_000_000;
  let dueAfterMs = maxAgeMs > 0 ? nowMs - maxAgeMs : -Infinity;
  // The oldest go first, so all that is younger than the first is there. By age alone it would be enough to be young.
  const evicts = config.discard !== DiscardPolicy.New && (config.max_msgs > 0 || config.max_bytes > 0);
  if (evicts && state.first_seq > 1) {
    if (state.messages === 0) return NOTHING;
    dueAfterMs = Math.max(dueAfterMs, Date.parse(state.first_ts) + ahead);
  }
  return { dueAfterMs, publishedAfterMs: Date.parse(created) + ahead };
}
