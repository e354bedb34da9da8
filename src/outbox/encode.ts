import { context, propagation } from '@opentelemetry/api';
import { EnqueueError, type EnqueueErrorKind } from '../errors';
import type { NewEvent } from '../event';

const NAME = /^[A-Za-z0-9_-]{1,128}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** A header name becomes a line of a NATS message; these prefixes carry the record itself, or steer the broker. */
const RESERVED_HEADER = /^(nats-|outbox-)/i;
/** Body and headers share the broker's limit; 16 KiB are kept for the headers, and the fixed ones need about half. */
const MAX_HEADER_BYTES = 8 * 1024;
const MAX_TEXT = 1_024;

/**
 * One event as the JSON record that the insert statement reads.
 *
 * @throws EnqueueError for what PostgreSQL could not store, or NATS never deliver, or JSON would change in silence
 */
export function encodeEvent(event: NewEvent, id: string, index: number, maxPayloadBytes: number): string {
  const refuse = (kind: EnqueueErrorKind, message: string, cause?: unknown): never => {
    throw new EnqueueError(kind, index, message, cause === undefined ? undefined : { cause });
  };
  if (typeof event !== 'object' || event === null)
    refuse('invalid-event', `it is ${event === null ? 'null' : typeof event}, not an object`);
  const name = (field: string, value: unknown) => {
    if (typeof value !== 'string' || !NAME.test(value)) {
      refuse(
        'invalid-type',
        `${field} ${quote(value)} must match [A-Za-z0-9_-]{1,128}, as it becomes a part of the NATS subject`,
      );
    }
    return value as string;
  };
  const uuid = (field: string, value: string | undefined) => {
    if (value !== undefined && (typeof value !== 'string' || !UUID.test(value)))
      refuse('invalid-event', `${field} ${quote(value)} is no UUID`);
    return value;
  };
  const text = (field: string, value: string | undefined) => {
    if (value === undefined) return undefined;
    if (typeof value !== 'string') refuse('invalid-event', `${field} must be text, not ${typeof value}`);
    if (value.length > MAX_TEXT)
      refuse('too-large', `${field} has ${value.length} characters; ${MAX_TEXT} is the limit`);
    const flaw = textFlaw(value);
    if (flaw) refuse('invalid-text', `${field} holds ${flaw}`);
    return value;
  };
  const time = (field: string, value: Date | undefined) => {
    if (value === undefined) return undefined;
    if (!(value instanceof Date) || Number.isNaN(value.getTime())) refuse('invalid-event', `${field} is no valid Date`);
    return value.toISOString();
  };
  if (
    event.version !== undefined &&
    (!Number.isInteger(event.version) || event.version < 1 || event.version > 2_147_483_647)
  ) {
    refuse('invalid-event', `version ${quote(event.version)} is no whole number from 1`);
  }
  if (typeof event.aggregateId !== 'string' || event.aggregateId === '')
    refuse('invalid-event', 'aggregateId must be a text that is not empty');

  const payload = encodePayload(event.payload, refuse);
  const bytes = Buffer.byteLength(payload);
  if (bytes > maxPayloadBytes) {
    refuse('too-large', `its payload has ${bytes} bytes; ${maxPayloadBytes} is the limit (OUTBOX_MAX_PAYLOAD_BYTES)`);
  }
  const record = JSON.stringify({
    i: uuid('eventId', id),
    t: name('type', event.type),
    a: name('aggregateType', event.aggregateType),
    k: text('aggregateId', event.aggregateId),
    c: uuid('companyId', event.companyId),
    o: uuid('orgUnitId', event.orgUnitId),
    h: encodeHeaders(event.headers, refuse),
    v: event.version ?? 1,
    r: text('correlationId', event.correlationId),
    s: text('causationId', event.causationId),
    w: time('occurredAt', event.occurredAt),
    d: time('availableAt', event.availableAt),
  });
  return `${record.slice(0, -1)},"p":${payload}}`;
}

type Refuse = (kind: EnqueueErrorKind, message: string, cause?: unknown) => never;

function encodePayload(payload: unknown, refuse: Refuse): string {
  const check = (key: string, value: unknown): unknown => {
    const at = () => (key === '' ? 'the payload' : `the payload's ${quote(key)}`);
    const keyFlaw = textFlaw(key);
    if (keyFlaw) refuse('invalid-text', `a key of the payload holds ${keyFlaw}`);
    if (typeof value === 'string') {
      const flaw = textFlaw(value);
      if (flaw) refuse('invalid-text', `${at()} holds ${flaw}`);
    } else if (typeof value === 'number') {
      if (!Number.isFinite(value)) refuse('unsafe-number', `${at()} is ${value}, which JSON has no number for`);
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
        refuse('unsafe-number', `${at()} is an integer past 2^53, which a reader would round; send it as text`);
      }
    } else if (typeof value === 'bigint') {
      refuse('unsafe-number', `${at()} is a bigint, which JSON has no form for; send it as text`);
    }
    return value;
  };
  let text: string | undefined;
  try {
    text = JSON.stringify(payload, check);
  } catch (error) {
    if (error instanceof EnqueueError) throw error;
    if (error instanceof RangeError) refuse('too-large', 'its payload is nested too deeply', error);
    if (error instanceof TypeError && /circular/i.test(error.message))
      refuse('circular', 'its payload refers to itself', error);
    refuse('invalid-event', 'its payload could not be turned into JSON (a toJSON or a getter threw)', error);
  }
  return text ?? refuse('invalid-event', `its payload is ${typeof payload}, which JSON has no form for`);
}

function encodeHeaders(given: NewEvent['headers'], refuse: Refuse): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  for (const [name, value] of Object.entries(given ?? {})) {
    if (!NAME.test(name) || RESERVED_HEADER.test(name)) {
      refuse(
        'invalid-headers',
        `the header name ${quote(name)} must match [A-Za-z0-9_-]{1,128} and not start with Nats- or Outbox-`,
      );
    }
    if (typeof value !== 'string') refuse('invalid-headers', `the header ${name} must be text, not ${typeof value}`);
    const flaw = textFlaw(value);
    if (flaw) refuse('invalid-text', `the header ${name} holds ${flaw}`);
    headers[name] = value;
  }
  const entries = Object.entries(headers);
  if (entries.length === 0) return undefined;
  const bytes = entries.reduce((sum, [name, value]) => sum + name.length + 3 * value.length, 0);
  if (bytes > MAX_HEADER_BYTES)
    refuse('too-large', `its headers may need ${bytes} bytes; ${MAX_HEADER_BYTES} is the limit`);
  return headers;
}

/** What PostgreSQL's `jsonb` and `text` refuse. */
function textFlaw(text: string): string | undefined {
  if (text.includes('\u0000')) return 'a NUL character (U+0000), which PostgreSQL cannot store';
  if (!text.isWellFormed()) return 'a lone surrogate, which is half a character and no valid text';
  return undefined;
}

function quote(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value).slice(0, 60);
}
