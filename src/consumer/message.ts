import type { MsgHdrs } from 'nats';
import { v4 as randomId, v5 as nameId } from 'uuid';
import { decodeHeaderValue } from '../broker/headers';
import { DERIVED_HEADER, NAME, RESERVED_HEADER, UUID } from '../event';
import type { IncomingEvent } from '../handlers/incoming';
import { isStorableTime } from '../storableTime';
import { readCloudEvent, type CloudEvent } from './cloudEvent';

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
  const fields = fieldsOf(message.headers);
  const ours = fields.has('Outbox-Event-Type');
  const cloud = ours ? undefined : readCloudEvent(fields);
  const eventId = idOf(text(fields, 'Nats-Msg-Id'), cloud, position);
  const availableAt = timeIn(text(fields, 'Outbox-Available-At'));
  const fromSubject = namesIn(message.subject, prefix);
  return {
    eventId,
    eventType: name(fields, 'Outbox-Event-Type') ?? named(cloud?.type) ?? fromSubject.eventType,
    aggregateType: name(fields, 'Outbox-Aggregate-Type') ?? fromSubject.aggregateType,
    // An aggregate of its own: under one common name all such messages would wait for one another.
    aggregateId: text(fields, 'Outbox-Aggregate-Id') ?? bounded(cloud?.subject ?? cloud?.partitionkey) ?? eventId,
    companyId: uuid(fields, 'Outbox-Company-Id'),
    orgUnitId: uuid(fields, 'Outbox-Org-Unit-Id'),
    payload: Buffer.from(message.data).toString(),
    headers: foreignHeaders(fields, ours, cloud),
    version: versionOf(text(fields, 'Outbox-Version')),
    correlationId: maybeEmpty(fields, 'Outbox-Correlation-Id') ?? bounded(cloud?.correlationid),
    causationId: maybeEmpty(fields, 'Outbox-Causation-Id') ?? bounded(cloud?.causationid),
    occurredAt: timeOf(text(fields, 'Outbox-Occurred-At') ?? cloud?.time ?? null, position?.at),
    ...(availableAt !== null && { availableAt }),
    source: position ? `${position.stream}/${position.sequence}` : 'core/0',
  };
}

/** Whether its id is its publisher's, and not that of its place in the stream. */
export function bringsId(headers: MsgHdrs | undefined): boolean {
  const fields = fieldsOf(headers);
  return text(fields, 'Nats-Msg-Id') !== null || readCloudEvent(fields) !== undefined;
}

function idOf(given: string | null, cloud: CloudEvent | undefined, position: Position): string {
  const stream = position?.stream ?? 'core';
  if (given !== null) return UUID.test(given) ? given.toLowerCase() : nameId(`${stream}/id/${given}`, NAMESPACE);
  // Source and id together are unique, wherever the event was published.
  if (cloud) return UUID.test(cloud.id) ? cloud.id.toLowerCase() : nameId(`ce/${cloud.source}/${cloud.id}`, NAMESPACE);
  return position ? nameId(`${stream}/${position.sequence}`, NAMESPACE) : randomId();
}

type Fields = ReadonlyMap<string, string>;

/** First values. Once for all: each look-up in the client's own headers goes through all of them. */
function fieldsOf(headers: MsgHdrs | undefined): Fields {
  const fields = new Map<string, string>();
  for (const [key, values] of headers ?? []) fields.set(key, values[0] ?? '');
  return fields;
}

/** `<prefix>.<aggregate type>.<event type>`; of a longer subject the last token is the type. */
function namesIn(subject: string, prefix: string): { aggregateType: string; eventType: string } {
  const tokens = (subject.startsWith(`${prefix}.`) ? subject.slice(prefix.length + 1) : subject).split('.');
  const usable = (token: string | undefined) => clean((token ?? '').slice(0, 128)) || 'unknown';
  return { aggregateType: usable(tokens[0]), eventType: usable(tokens.length > 1 ? tokens.at(-1) : undefined) };
}

/** A header's first value, decoded; `null` when there is none. */
function text(fields: Fields, key: string): string | null {
  const value = fields.get(key);
  return value ? bounded(decodeHeaderValue(value)) : null;
}

/** The same of a header that may be there without a value. */
function maybeEmpty(fields: Fields, key: string): string | null {
  return fields.get(key) === '' ? '' : text(fields, key);
}

function bounded(value: string | undefined): string | null {
  return value === undefined ? null : clean(value.slice(0, MAX_TEXT));
}

function name(fields: Fields, key: string): string | undefined {
  return named(text(fields, key) ?? undefined);
}

function named(value: string | undefined): string | undefined {
  return value !== undefined && NAME.test(value) ? value : undefined;
}

function uuid(fields: Fields, key: string): string | null {
  const value = text(fields, key);
  return value !== null && UUID.test(value) ? value.toLowerCase() : null;
}

function versionOf(given: string | null): number {
  const version = given !== null && /^\d{1,10}$/.test(given) ? Number(given) : 1;
  return version >= 1 && version <= MAX_VERSION ? version : 1;
}

/** The publisher's time as it stands, digit for digit, when it is one; else when the stream stored the message. */
function timeOf(given: string | null, storedAt: Date | undefined): string {
  const known = storedAt && !Number.isNaN(storedAt.getTime()) ? storedAt : undefined;
  // eslint-disable-next-line no-restricted-syntax -- core NATS tells no time: when it came is all that is known, and nothing is decided by it
  return timeIn(given) ?? (known ?? new Date()).toISOString().replace('Z', '000Z');
}

/** A time that both JavaScript and PostgreSQL read, and read as the same: no 30 February, which one of them takes for March. */
function timeIn(given: string | null): string | null {
  const iso = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-](0\d|1[0-5]):\d\d)$/;
  const day = given === null ? undefined : iso.exec(given)?.[1];
  if (given === null || day === undefined || !isStorableTime(Date.parse(given))) return null;
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day) ? given : null;
}

/** The publisher's own headers. Of our events not the attributes that were derived from the record. */
function foreignHeaders(
  fields: Fields,
  ours: boolean,
  cloud: CloudEvent | undefined,
): Readonly<Record<string, string>> | null {
  const kept: [string, string][] = [];
  for (const [key, value] of fields) {
    if (RESERVED_HEADER.test(key) || (ours && DERIVED_HEADER.test(key))) continue;
    kept.push([clean(key), clean(decodeHeaderValue(value))]);
  }
  // On its way through brokers of other kinds an event keeps its attributes and loses its headers.
  if (cloud?.traceparent !== undefined && !kept.some(([key]) => key.toLowerCase() === 'traceparent')) {
    kept.push(['traceparent', clean(cloud.traceparent)]);
    if (cloud.tracestate !== undefined) kept.push(['tracestate', clean(cloud.tracestate)]);
  }
  return kept.length > 0 ? Object.fromEntries(kept) : null;
}

/** PostgreSQL stores neither NUL nor half a surrogate pair: such a message could never be written down. */
function clean(value: string): string {
  return value.replaceAll('\u0000', '\ufffd').toWellFormed();
}
