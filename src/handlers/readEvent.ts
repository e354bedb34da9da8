import { parse } from 'lossless-json';
import type { EventRecord } from '../event';
import { checkSchema, type Checked } from './checkSchema';
import type { EventDefinition } from './defineEvent';
import type { HandledEvent, Handler } from './defineHandler';
import { failureName } from './failureText';
import { isThenable } from './isThenable';
import { storable } from './storable';

export type Reading =
  | { readonly kind: 'ready'; readonly event: HandledEvent }
  /** Written by a newer build: another worker may know it, or this one after its next deploy. */
  | { readonly kind: 'newer'; readonly version: number; readonly known: number }
  /** No attempt will ever succeed, unless the definition changes. */
  | { readonly kind: 'unfit'; readonly reason: string };

const MAX_REASON = 500;

/**
 * The event as this handler takes it: parsed, lifted to the version of the definition, and checked. Never throws or
 * rejects, whatever the event holds and the definition's functions do. A promise only when the validator is
 * asynchronous: this runs for every event, and a turn of the event loop for each would be felt.
 */
export function readEvent(handler: Handler, record: EventRecord): Reading | Promise<Reading> {
  const definition = handler.definitions.get(record.eventType);
  if (definition && record.version > definition.version)
    return { kind: 'newer', version: record.version, known: definition.version };

  const parsed = parseBody(record.payload);
  if (!parsed.ok) return unfit(parsed.reason);
  if (!definition) return ready(record, record.version, parsed.value);
  const lifted = lift(definition, record.version, parsed.value);
  if (!lifted.ok) return unfit(lifted.reason);
  const { type, version, schema } = definition;
  if (!schema) return ready(record, version, lifted.value);
  const conclude = (checked: Checked): Reading =>
    checked.ok
      ? ready(record, version, checked.value)
      : unfit(`the payload does not fit the schema of ${type} version ${version}: ${checked.reason}`);
  const checked = checkSchema(schema, lifted.value);
  return checked instanceof Promise ? checked.then(conclude) : conclude(checked);
}

/** The fewest digits that an integer past 2^53 has. Most bodies have no such run, and `JSON.parse` is ten times as fast. */
const MANY_DIGITS = /\d{16}/;

/** The error's own message quotes the body, so it is not told. */
function parseBody(text: string): Checked {
  try {
    const value: unknown = MANY_DIGITS.test(text)
      ? parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue })
      : JSON.parse(text);
    return { ok: true, value };
  } catch (error) {
    const deep = error instanceof RangeError;
    return { ok: false, reason: deep ? 'the body is nested too deeply to be read' : 'the body is no JSON' };
  }
}

/** An integer as it is written, without fraction and exponent; `1e30` was never exact. */
function parseNumber(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) || !/^-?\d+$/.test(text) ? number : BigInt(text);
}

function lift({ type, version, upcast }: EventDefinition, from: number, payload: unknown): Checked {
  let value = payload;
  for (let at = from; at < version; at++) {
    const step = Object.hasOwn(upcast, at) ? upcast[at] : undefined;
    if (!step)
      return { ok: false, reason: `${type} has no upcast from version ${at}, and the event has version ${from}` };
    try {
      value = step(value);
      if (isThenable(value)) {
        // Nobody waits for it, so its rejection would end the process.
        Promise.resolve(value).catch(() => undefined);
        return { ok: false, reason: `the upcast of ${type} from version ${at} gave a promise; it must be synchronous` };
      }
    } catch (error) {
      return { ok: false, reason: `the upcast of ${type} from version ${at} threw ${failureName(error)}` };
    }
  }
  return { ok: true, value };
}

function ready(record: EventRecord, version: number, payload: unknown): Reading {
  return {
    kind: 'ready',
    event: {
      eventId: record.eventId,
      type: record.eventType,
      version,
      aggregateType: record.aggregateType,
      aggregateId: record.aggregateId,
      companyId: record.companyId,
      orgUnitId: record.orgUnitId,
      payload,
      // A copy: another handler of the same event gets its own.
      headers: { ...record.headers },
      correlationId: record.correlationId,
      causationId: record.causationId,
      occurredAt: record.occurredAt,
    },
  };
}

function unfit(reason: string): Reading {
  return { kind: 'unfit', reason: storable(reason, MAX_REASON) };
}

/** Why an event of a newer version waits. */
export function newerVersion({ version, known }: Extract<Reading, { kind: 'newer' }>): string {
  return `it has version ${version}, and this worker knows versions up to ${known}: it waits for a newer worker`;
}
