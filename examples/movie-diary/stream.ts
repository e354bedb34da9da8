import { DeliverPolicy, jetstream, jetstreamManager, JetStreamApiError } from '@nats-io/jetstream';
import type { NatsConnection } from 'nats';
import type { Imported } from './importFilms';

const STREAM = process.env.OUTBOX_STREAM ?? 'EVENTS';
const SUBJECT = `${process.env.OUTBOX_SUBJECT_PREFIX ?? 'events'}.movie.MovieDiscovered`;
const QUIET_MS = 10_000;

/** What the stream holds of a run, counted by event id. */
export interface Counted {
  /** Committed events that are in the stream. */
  readonly published: number;
  /** Messages beyond the first of an event. */
  readonly duplicates: number;
  readonly missing: number;
  /** Events in the stream whose transaction rolled back. */
  readonly fromRolledBack: number;
}

/** The last sequence of the stream before a run; 0 when there is no stream yet. */
export async function lastSequence(nats: NatsConnection): Promise<number> {
  const manager = await jetstreamManager(nats);
  try {
    return (await manager.streams.info(STREAM)).state.last_seq;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.status === 404) return 0;
    throw error;
  }
}

/** Reads every message after `sequence` and compares it with what was committed and what was rolled back. */
export async function countStream(nats: NatsConnection, sequence: number, imported: Imported): Promise<Counted> {
  const times = new Map<string, number>();
  for (const id of await readIds(nats, sequence)) times.set(id, (times.get(id) ?? 0) + 1);
  let published = 0;
  let duplicates = 0;
  let fromRolledBack = 0;
  for (const [id, count] of times) {
    if (imported.committed.has(id)) published++;
    if (imported.rolledBack.has(id)) fromRolledBack++;
    duplicates += count - 1;
  }
  return { published, duplicates, missing: imported.committed.size - published, fromRolledBack };
}

async function readIds(nats: NatsConnection, sequence: number): Promise<string[]> {
  const { state } = await (await jetstreamManager(nats)).streams.info(STREAM);
  const consumer = await jetstream(nats).consumers.get(STREAM, {
    filter_subjects: [SUBJECT],
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: sequence + 1,
    headers_only: true,
  });
  const ids: string[] = [];
  let waiting = (await consumer.info()).num_pending;
  while (waiting > 0) {
    const batch = await consumer.fetch({ max_messages: Math.min(waiting, 1_000), expires: QUIET_MS });
    let received = 0;
    for await (const message of batch) {
      received++;
      ids.push(message.headers?.get('Nats-Msg-Id') ?? `without an id: sequence ${message.seq}`);
    }
    if (received === 0)
      throw new Error(`the stream ${STREAM} stopped answering at ${ids.length} of ${state.messages} messages`);
    waiting -= received;
  }
  return ids;
}
