import { randomUUID } from 'node:crypto';
import { types } from 'node:util';
import { EnqueueError, type EnqueueErrorKind } from '../errors';
import { DERIVED_HEADER, NAME, RESERVED_HEADER, UUID, type NewEvent } from '../event';
import { isEventDefinition } from '../handlers/defineEvent';
import { checkPayload } from './checkPayload';
import { measureJson } from './measureJson';

/**
 * Body and headers share the broker's limit; 16 KiB are kept for the headers. Those of the record and the CloudEvent need
 * up to 3 KiB beside the texts that are counted here.
 */
const MAX_HEADER_BYTES = 13 * 1024;
const MAX_TEXT = 1_024;
/**
 * PostgreSQL with its default `max_stack_depth` gives up at about 13,000 levels, by an error that aborts the caller's
 * transaction; `JSON.stringify` gives up at 2,000 or at 20,000, as the process was started. A limit below all of them
 * refuses the same payloads everywhere.
 */
const MAX_DEPTH = 1_000;

/** Headers of an application's own extension attributes, of which more is encoded. */
const CLOUD_EVENT = /^ce-/i;

/** What the active trace context adds to each event's headers, see `activeHeaders`. */
type Ambient = Readonly<Record<string, unknown>>;

/** `flaw`: there only when the event's own validator is asynchronous; what its payload is refused for, if anything. */
export interface EncodedEvent {
  readonly id: string;
  readonly record: string;
  readonly flaw?: Promise<string | undefined>;
}

/**
 * One event as the JSON record that the insert statement reads.
 *
 * @throws EnqueueError for what PostgreSQL could not store, or NATS never deliver, or JSON would change in silence
 */
export function encodeEvent(event: NewEvent, index: number, maxPayloadBytes: number, ambient: Ambient): EncodedEvent {
  const refuse = (kind: EnqueueErrorKind, message: string, cause?: unknown): never => {
    throw new EnqueueError(kind, index, message, cause === undefined ? undefined : { cause });
  };
  if (typeof event !== 'object' || event === null)
    refuse('invalid-event', `it is ${event === null ? 'null' : typeof event}, not an object`);
  try {
    return encode(event, maxPayloadBytes, ambient, refuse);
  } catch (error) {
    if (error instanceof EnqueueError) throw error;
    return refuse('invalid-event', 'one of its fields could not be read', error);
  }
}

function encode(event: NewEvent, maxPayloadBytes: number, ambient: Ambient, refuse: Refuse): EncodedEvent {
  const name = (field: string, value: unknown) => {
    if (typeof value !== 'string' || !NAME.test(value)) {
      refuse(
        'invalid-type',
        `${field} ${quote(value)} must match [A-Za-z0-9_-]{1,128}, as it becomes a part of the NATS subject`,
      );
    }
    return value;
  };
  const uuid = (field: string, value: unknown) => {
    if (value === undefined) return undefined;
    if (typeof value !== 'string' || !UUID.test(value)) refuse('invalid-event', `${field} ${quote(value)} is no UUID`);
    return value.toLowerCase();
  };
  const text = (field: string, value: unknown) => {
    if (value === undefined) return undefined;
    if (typeof value !== 'string') return refuse('invalid-event', `${field} must be text, not ${typeof value}`);
    if (value.length > MAX_TEXT)
      refuse('too-large', `${field} has ${value.length} characters; ${MAX_TEXT} is the limit`);
    const flaw = textFlaw(value);
    if (flaw) refuse('invalid-text', `${field} holds ${flaw}`);
    return value;
  };
  const time = (field: string, value: unknown) => {
    if (value === undefined) return undefined;
    if (!(value instanceof Date) || Number.isNaN(value.getTime()))
      return refuse('invalid-event', `${field} is no valid Date`);
    const year = value.getUTCFullYear();
    if (year < 1 || year > 9_999) refuse('invalid-event', `${field} is in the year ${year}; 1 to 9999 can be stored`);
    return value.toISOString();
  };
  const version = (value: unknown) => {
    if (value === undefined) return 1;
    if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > 2_147_483_647)
      refuse('invalid-event', `version ${quote(value)} is no whole number from 1`);
    return value;
  };

  const id = uuid('eventId', event.eventId ?? undefined) ?? randomUUID();
  const { aggregateId } = event;
  if (typeof aggregateId !== 'string' || aggregateId === '')
    refuse('invalid-event', 'aggregateId must be a text that is not empty');
  const texts = {
    k: text('aggregateId', aggregateId),
    r: text('correlationId', event.correlationId),
    s: text('causationId', event.causationId),
  };
  const record = JSON.stringify({
    i: id,
    t: name('type', event.type),
    a: name('aggregateType', event.aggregateType),
    c: uuid('companyId', event.companyId),
    o: uuid('orgUnitId', event.orgUnitId),
    ...texts,
    h: encodeHeaders(event.headers, Object.values(texts), ambient, refuse),
    v: version(event.version),
    w: time('occurredAt', event.occurredAt),
    d: time('availableAt', event.availableAt),
  });
  const payload = encodePayload(event.payload, maxPayloadBytes, refuse);
  const encoded = { id, record: `${record.slice(0, -1)},"p":${payload}}` };
  const { definition } = event;
  if (definition === undefined) return encoded;
  if (!isEventDefinition(definition)) {
    refuse(
      'invalid-event',
      'its definition did not come from defineEvent of this package (is temporal-outbox installed twice?)',
    );
  }
  if (definition.type !== event.type || definition.version !== (event.version ?? 1)) {
    refuse(
      'invalid-event',
      `its type and version are not those of its definition, ${definition.type} version ${definition.version}`,
    );
  }
  const flaw = checkPayload(definition, payload);
  if (typeof flaw === 'string') refuse('invalid-payload', flaw);
  return flaw instanceof Promise ? { ...encoded, flaw } : encoded;
}

type Refuse = (kind: EnqueueErrorKind, message: string, cause?: unknown) => never;

function encodePayload(payload: unknown, maxBytes: number, refuse: Refuse): string {
  const check = (key: string, given: unknown): unknown => {
    // JSON.stringify unwraps `new String(…)` and the like only after this function has seen them.
    const value = types.isBoxedPrimitive(given) ? (given.valueOf() as unknown) : given;
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
    if (error instanceof RangeError && /call stack/i.test(error.message))
      refuse('too-large', 'its payload is nested too deeply', error);
    if (error instanceof RangeError && /string length/i.test(error.message))
      refuse('too-large', 'its payload is longer than any text can be', error);
    if (error instanceof TypeError && /circular/i.test(error.message))
      refuse('circular', 'its payload refers to itself', error);
    refuse('invalid-event', 'its payload could not be turned into JSON (a toJSON or a getter threw)', error);
  }
  if (text === undefined)
    return refuse('invalid-event', `its payload is ${typeof payload}, which JSON has no form for`);
  const { bytes, depth } = measureJson(text);
  if (depth > MAX_DEPTH) refuse('too-large', `its payload is nested ${depth} levels deep; ${MAX_DEPTH} is the limit`);
  if (bytes > maxBytes) {
    refuse(
      'too-large',
      `its payload has ${bytes} bytes as PostgreSQL prints it; ${maxBytes} is the limit (OUTBOX_MAX_PAYLOAD_BYTES)`,
    );
  }
  return text;
}

/**
 * The caller's headers, then what the trace context adds to them. The caller did not write the latter and could not
 * mend it, so what cannot be sent of it is left out, and never a reason to refuse the event. A `traceparent` of the
 * caller's stands alone: the state of another trace beside it would be wrong.
 */
function encodeHeaders(
  given: unknown,
  texts: readonly (string | undefined)[],
  ambient: Ambient,
  refuse: Refuse,
): Record<string, string> | undefined {
  if (given !== undefined && (typeof given !== 'object' || given === null || Array.isArray(given)))
    refuse('invalid-headers', 'headers must be an object of texts');
  // Without a prototype, so that a header named `__proto__` is one.
  const headers = Object.create(null) as Record<string, string>;
  let bytes = texts.reduce((sum, text) => sum + (text === undefined ? 0 : headerBytes(text)), 0);
  for (const [name, value] of Object.entries((given ?? {}) as Record<string, unknown>)) {
    if (!NAME.test(name) || RESERVED_HEADER.test(name)) {
      refuse(
        'invalid-headers',
        `the header name ${quote(name)} must match [A-Za-z0-9_-]{1,128} and not start with Nats- or Outbox-`,
      );
    }
    if (DERIVED_HEADER.test(name))
      refuse('invalid-headers', `the header ${name} is made from the event when it is published, and cannot be given`);
    if (typeof value !== 'string')
      return refuse('invalid-headers', `the header ${name} must be text, not ${typeof value}`);
    const flaw = textFlaw(value);
    if (flaw) refuse('invalid-text', `the header ${name} holds ${flaw}`);
    headers[name] = value;
    bytes += CLOUD_EVENT.test(name) ? headerBytes(name, encodeURIComponent(value)) : headerBytes(name, value);
  }
  if (bytes > MAX_HEADER_BYTES) {
    refuse(
      'too-large',
      `its headers, aggregateId, correlationId and causationId may need ${bytes} bytes; ${MAX_HEADER_BYTES} is the limit`,
    );
  }
  const taken = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  for (const [name, value] of taken.has('traceparent') ? [] : Object.entries(ambient)) {
    if (taken.has(name.toLowerCase()) || !NAME.test(name) || RESERVED_HEADER.test(name) || DERIVED_HEADER.test(name))
      continue;
    if (typeof value !== 'string' || textFlaw(value) || bytes + headerBytes(name, value) > MAX_HEADER_BYTES) continue;
    headers[name] = value;
    bytes += headerBytes(name, value);
  }
  return Object.keys(headers).length === 0 ? undefined : headers;
}

/** At most what these texts need in a message: whatever is not plain ASCII is sent percent-encoded. */
function headerBytes(...texts: string[]): number {
  return texts.reduce(
    (sum, text) => sum + 2 + (/^[\x20-\x24\x26-\x7e]*$/.test(text) ? text.length + 4 : encodeURIComponent(text).length),
    0,
  );
}

/** What PostgreSQL's `jsonb` and `text` refuse. */
function textFlaw(text: string): string | undefined {
  if (text.includes('\u0000')) return 'a NUL character (U+0000), which PostgreSQL cannot store';
  if (!text.isWellFormed()) return 'a lone surrogate, which is half a character and no valid text';
  return undefined;
}

function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60));
  // An object may have no way to become text.
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : `(${typeof value})`;
}
