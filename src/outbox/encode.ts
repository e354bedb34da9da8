import { randomUUID } from 'node:crypto';
import { EnqueueError, type EnqueueErrorKind } from '../errors';
import { NAME, UUID, type NewEvent } from '../event';
import { isEventDefinition } from '../handlers/defineEvent';
import { checkPayload } from './checkPayload';
import { encodeHeaders, type Ambient } from './encodeHeaders';
import { encodePayload } from './encodePayload';
import { quote, textFlaw, type Refuse } from './refuse';

const MAX_TEXT = 1_024;

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
  let refusal: EnqueueError | undefined;
  const refuse = (kind: EnqueueErrorKind, message: string, cause?: unknown): never => {
    throw (refusal = new EnqueueError(kind, index, message, cause === undefined ? undefined : { cause }));
  };
  if (typeof event !== 'object' || event === null)
    refuse('invalid-event', `it is ${event === null ? 'null' : typeof event}, not an object`);
  try {
    return encode(event, maxPayloadBytes, ambient, refuse);
  } catch (error) {
    // Not by `instanceof`: what a getter threw may be a proxy that cannot even be asked what it is.
    if (refusal !== undefined && error === refusal) throw error;
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
    // Its methods may be those of a subclass, and say anything.
    const date = value instanceof Date ? new Date(Date.prototype.getTime.call(value)) : undefined;
    if (date === undefined || Number.isNaN(date.getTime())) return refuse('invalid-event', `${field} is no valid Date`);
    const year = date.getUTCFullYear();
    if (year < 1 || year > 9_999) refuse('invalid-event', `${field} is in the year ${year}; 1 to 9999 can be stored`);
    return date.toISOString();
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
