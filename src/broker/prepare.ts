import type { MsgHdrs } from 'nats';
import type { Config } from '../config';
import type { ClaimedEvent } from '../event';
import type { Outcome } from './broker';
import { headerBytes, headersOf } from './headers';
import { subjectOf } from './subject';

export interface Message {
  readonly event: ClaimedEvent;
  readonly subject: string;
  readonly headers: MsgHdrs;
}

/**
 * The message, or why there will never be one. Measured here because the server answers a message over its limit by
 * closing the connection, with all that is in flight (C10).
 */
export function prepare(
  event: ClaimedEvent,
  nats: Pick<Config['nats'], 'subjectPrefix' | 'cloudEventsSource'>,
  serverLimit = Infinity,
): Message | Outcome {
  const subject = subjectOf(nats.subjectPrefix, event);
  if (subject === undefined) {
    return {
      kind: 'refused',
      reason: 'its type or aggregate type is no subject token: [A-Za-z0-9_-]{1,128} is allowed',
    };
  }
  try {
    const message = { event, subject, headers: headersOf(event, nats.cloudEventsSource) };
    const bytes = bytesOf(message);
    if (bytes <= serverLimit) return message;
    return { kind: 'refused', reason: `it has ${bytes} bytes with its headers; the broker takes ${serverLimit}` };
  } catch (error) {
    return { kind: 'refused', reason: (error as Error).message };
  }
}

/** As the broker's limits count it. */
export function bytesOf({ event, headers }: Pick<Message, 'event' | 'headers'>): number {
  return Buffer.byteLength(event.payload) + headerBytes(headers);
}

/** For a message that the stream refused. @param limit of the stream as it is now: it may have been raised since */
export function sizeRefusal(message: Pick<Message, 'event' | 'headers'>, stream: string, limit: number): Outcome {
  const bytes = bytesOf(message);
  return limit < 0 || bytes <= limit
    ? { kind: 'later', reason: `the stream ${stream} refused its size, and takes it by now` }
    : { kind: 'refused', reason: `it has ${bytes} bytes with its headers; the stream ${stream} takes ${limit}` };
}
