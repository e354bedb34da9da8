import { headers as newHeaders, type MsgHdrs } from 'nats';
import { DERIVED_HEADER, NAME, RESERVED_HEADER, type ClaimedEvent } from '../event';
import { appendCloudEvent, encodeAttribute } from './cloudEvent';

/** Printable ASCII but `%`: everything else would be cut, trimmed or refused on its way through a header line. */
const PLAIN = /^(?! )[\x20-\x24\x26-\x7e]*(?<! )$/;

/** Percent-encoding of what a header line cannot carry as it is; most values stay as they are. */
export function encodeHeaderValue(value: string): string {
  if (PLAIN.test(value)) return value;
  return value.replace(/^ | $|[^\x20-\x24\x26-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed()));
}

/** The inverse of `encodeHeaderValue`. What is no valid encoding, such as a foreign publisher's `100%`, stays as it is. */
export function decodeHeaderValue(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/**
 * The headers of an event: beside its body they hold the whole record, so that it can be rebuilt from the stream, and
 * make it a CloudEvent.
 *
 * @param source the CloudEvent's
 * @throws Error when a foreign writer's header cannot be sent
 */
export function headersOf(event: ClaimedEvent, source: string): MsgHdrs {
  const headers = newHeaders();
  headers.append('Nats-Msg-Id', event.eventId);
  headers.append('Outbox-Event-Type', event.eventType);
  headers.append('Outbox-Aggregate-Type', event.aggregateType);
  headers.append('Outbox-Aggregate-Id', encodeHeaderValue(event.aggregateId));
  headers.append('Outbox-Version', `${event.version}`);
  headers.append('Outbox-Occurred-At', event.occurredAt);
  if (event.availableAt) headers.append('Outbox-Available-At', event.availableAt);
  if (event.companyId !== null) headers.append('Outbox-Company-Id', event.companyId);
  if (event.orgUnitId !== null) headers.append('Outbox-Org-Unit-Id', event.orgUnitId);
  if (event.correlationId !== null) headers.append('Outbox-Correlation-Id', encodeHeaderValue(event.correlationId));
  if (event.causationId !== null) headers.append('Outbox-Causation-Id', encodeHeaderValue(event.causationId));
  const contentType = event.headers === null ? undefined : appendForeign(headers, event.headers);
  appendCloudEvent(headers, event, source, contentType);
  return headers;
}

/** @returns the content type, where it is among them */
function appendForeign(headers: MsgHdrs, given: unknown): string | undefined {
  let contentType: string | undefined;
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new Error('its headers are no JSON object');
  for (const [name, value] of Object.entries(given)) {
    if (!NAME.test(name) || RESERVED_HEADER.test(name))
      throw new Error(`its header name ${JSON.stringify(name.slice(0, 60))} is not allowed`);
    if (typeof value !== 'string') throw new Error(`its header ${name} is no text`);
    if (/^content-type$/i.test(name)) contentType = value;
    if (/^ce-/i.test(name)) {
      // By hand, in SQL: the record's own word counts.
      if (!DERIVED_HEADER.test(name)) headers.append(name, encodeAttribute(value));
    } else headers.append(name, encodeHeaderValue(value));
  }
  return contentType;
}

/** What the headers add to a message's size, which the broker's limit counts too. */
export function headerBytes(headers: MsgHdrs): number {
  let bytes = 'NATS/1.0\r\n\r\n'.length;
  for (const [name, values] of headers) for (const value of values) bytes += name.length + value.length + 4;
  return bytes;
}
