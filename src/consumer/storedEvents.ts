import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import type { NatsLink } from '../broker/link';
import type { Config } from '../config';
import type { IncomingEvent } from '../handlers/incoming';
import { incomingEvent } from './message';

const TIMEOUT_MS = 5_000;
/** Enough to hide the round trips, and few enough bodies in memory. */
const AT_ONCE = 16;

export interface StoredEvent {
  readonly sequence: number;
  readonly subject: string;
  readonly event: IncomingEvent;
}

/** @throws Error while the broker is away */
export async function managerOver(link: NatsLink): Promise<JetStreamManager> {
  if (!link.connection || !link.up) throw new Error(link.reason);
  return jetstreamManager(link.connection, { checkAPI: false, timeout: TIMEOUT_MS });
}

/** Reads messages of the stream by their sequences; those that it has no more are left out. */
export async function readStored(
  manager: JetStreamManager,
  nats: Config['nats'],
  sequences: readonly number[],
): Promise<StoredEvent[]> {
  const found: StoredEvent[] = [];
  for (let from = 0; from < sequences.length; from += AT_ONCE) {
    const part = sequences.slice(from, from + AT_ONCE);
    const events = await Promise.all(part.map((sequence) => readOne(manager, nats, sequence)));
    for (const event of events) if (event) found.push(event);
  }
  return found;
}

async function readOne(
  manager: JetStreamManager,
  { stream, subjectPrefix }: Config['nats'],
  sequence: number,
): Promise<StoredEvent | undefined> {
  const message = await manager.streams.getMessage(stream, { seq: sequence });
  if (!message) return undefined;
  const { subject, data, header: headers, time: at } = message;
  return {
    sequence,
    subject,
    event: incomingEvent({ subject, data, headers }, subjectPrefix, { stream, sequence, at }),
  };
}
