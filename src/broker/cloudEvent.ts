import type { MsgHdrs } from 'nats';
import type { ClaimedEvent } from '../event';

/**
 * Of an attribute that an event need not have. Longer ones are left out, so that with them all headers stay within the
 * room that is kept beside the largest payload: `MAX_HEADER_BYTES` counts on it.
 */
const MAX_OPTIONAL_BYTES = 256;

/** What the binding lets stand as it is: printable ASCII but blank, double quote and `%`. */
const PLAIN = /^[\x21\x23\x24\x26-\x7e]*$/;
const NOT_PLAIN = /[^\x21\x23\x24\x26-\x7e]+/g;
/** No text of a CloudEvent may hold these. */
const FORBIDDEN = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u;
/** The database prints an infinite time, or one before the year 1, as something that RFC 3339 does not know. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/**
 * Writes the event's CloudEvents 1.0 attributes, as the NATS binding has them in binary mode: each a header `ce-…`, the
 * body as it is.
 *
 * @param contentType of the body, where the application has said it
 */
export function appendCloudEvent(
  headers: MsgHdrs,
  event: ClaimedEvent,
  source: string,
  contentType = 'application/json',
): void {
  // Somebody wrote the whole event into the body: two sets of attributes would contradict each other.
  if (/^application\/cloudevents/i.test(contentType)) return;
  const optional = (name: string, value: unknown) => {
    if (typeof value !== 'string' || value === '' || FORBIDDEN.test(value)) return;
    const encoded = encodeAttribute(value);
    if (encoded.length <= MAX_OPTIONAL_BYTES) headers.append(name, encoded);
  };
  headers.append('ce-specversion', '1.0');
  headers.append('ce-id', event.eventId);
  headers.append('ce-source', encodeAttribute(source));
  headers.append('ce-type', event.eventType);
  if (TIME.test(event.occurredAt)) headers.append('ce-time', event.occurredAt);
  optional('ce-datacontenttype', contentType);
  optional('ce-subject', event.aggregateId);
  optional('ce-partitionkey', event.aggregateId);
  optional('ce-correlationid', event.correlationId);
  optional('ce-causationid', event.causationId);
  optional('ce-traceparent', event.headers?.traceparent);
  optional('ce-tracestate', event.headers?.tracestate);
}

/** As the NATS binding percent-encodes a value; `decodeHeaderValue` is the inverse. */
export function encodeAttribute(value: string): string {
  if (PLAIN.test(value)) return value;
  return value.replace(NOT_PLAIN, (part) => encodeURIComponent(part.toWellFormed()));
}
