import type { MsgHdrs } from 'nats';
import { v4 as randomId, v5 as nameId } from 'uuid';
import { decodeHeaderValue } from '../broker/headers';
import { NAME, RESERVED_HEADER, UUID } from '../event';
import type { IncomingEvent } from '../handlers/incoming';

/** Namespace of the ids that foreign messages get. Changing it would make every such message a new event. */
const NAMESPACE = '6d6f7669-6520-5469-8172-790a6f757462';
/** As long as `enqueueEvents` lets an id be. */
const MAX_TEXT = 1_024;
const MAX_VERSION = 2_147_483_647;

/** What a NATS message and a stored one have in common. */
export interface Message {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers?: MsgHdrs | undefined;
}

/** Where a stream has a message; `null` in core mode, where nothing is stored. */
export type Position = { readonly stream: string; readonly sequence: number; readonly at: Date } | null;

/**
 * The event of a message. Never throws, whatever a foreign publisher sent: what is missing or unusable is derived from
 * subject and position, so that the same message is the same event at every delivery.
 */
export function incomingEvent(message: Message, prefix: string, position: Position): IncomingEvent {
  const { headers } = message;
  const eventId = idOf(text(headers, 'Nats-Msg-Id'), position);
  const availableAt = timeIn(text(headers, 'Outbox-Available-At'));
  const fromSubject = namesIn(message.subject, prefix);
  return {
    eventId,
    eventType: name(headers, 'Outbox-Event-Type') ?? fromSubject.eventType,
    aggregateType: name(headers, 'Outbox-Aggregate-Type') ?? fromSubject.aggregateType,
    // An aggregate of its own: under one common name all such messages would wait for one another.
    aggregateId: text(headers, 'Outbox-Aggregate-Id') ?? eventId,
    companyId: uuid(headers, 'Outbox-Company-Id'),
    orgUnitId: uuid(headers, 'Outbox-Org-Unit-Id'),
    payload: Buffer.from(message.data).toString(),
    headers: foreignHeaders(headers),
    version: versionOf(text(headers, 'Outbox-Version')),
    correlationId: text(headers, 'Outbox-Correlation-Id'),
    causationId: text(headers, 'Outbox-Causation-Id'),
    occurredAt: timeOf(text(headers, 'Outbox-Occurred-At'), position?.at ?? new Date()),
    ...(availableAt !== null && { availableAt }),
    source: position ? `${position.stream}/${position.sequence}` : 'core/0',
  };
}

function idOf(given: string | null, position: Position): string {
  if (given !== null && UUID.test(given)) return given.toLowerCase();
  const stream = position?.stream ?? 'core';
  if (given !== null) return nameId(`${stream}/id/${given}`, NAMESPACE);
  return position ? nameId(`${stream}/${position.sequence}`, NAMESPACE) : randomId();
}

/** `<prefix>.<aggregate type>.<event type>`; of a longer subject the last token is the type. */
function namesIn(subject: string, prefix: string): { aggregateType: string; eventType: string } {
  const tokens = (subject.startsWith(`${prefix}.`) ? subject.slice(prefix.length + 1) : subject).split('.');
  const usable = (token: string | undefined) => clean(token ?? '').slice(0, 128) || 'unknown';
  return { aggregateType: usable(tokens[0]), eventType: usable(tokens.length > 1 ? tokens.at(-1) : undefined) };
}

/** A header's first value, decoded; `null` when there is none. */
function text(headers: MsgHdrs | undefined, key: string): string | null {
  const value = headers?.get(key);
  return value ? clean(decodeHeaderValue(value)).slice(0, MAX_TEXT) : null;
}

function name(headers: MsgHdrs | undefined, key: string): string | undefined {
  const value = text(headers, key);
  return value !== null && NAME.test(value) ? value : undefined;
}

function uuid(headers: MsgHdrs | undefined, key: string): string | null {
  const value = text(headers, key);
  return value !== null && UUID.test(value) ? value.toLowerCase() : null;
}

function versionOf(given: string | null): number {
  const version = given !== null && /^\d{1,10}$/.test(given) ? Number(given) : 1;
  return version >= 1 && version <= MAX_VERSION ? version : 1;
}

/** The publisher's time as it stands, digit for digit, when it is one; else when the message came. */
function timeOf(given: string | null, at: Date): string {
  return timeIn(given) ?? (Number.isNaN(at.getTime()) ? new Date() : at).toISOString().replace('Z', '000Z');
}

function timeIn(given: string | null): string | null {
  const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
  return given !== null && iso.test(given) && !Number.isNaN(Date.parse(given)) ? given : null;
}

function foreignHeaders(headers: MsgHdrs | undefined): Readonly<Record<string, string>> | null {
  const kept: [string, string][] = [];
  for (const [key, values] of headers ?? []) {
    if (!RESERVED_HEADER.test(key)) kept.push([clean(key), clean(decodeHeaderValue(values[0] ?? ''))]);
  }
  return kept.length > 0 ? Object.fromEntries(kept) : null;
}

/** PostgreSQL stores neither NUL nor half a surrogate pair: such a message could never be written down. */
function clean(value: string): string {
  return value.replaceAll('\u0000', '\ufffd').toWellFormed();
}
