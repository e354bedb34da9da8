import type { NewEvent } from '../event';

/** Every field of an event that a line can hold; the type keeps the list complete. */
const FIELDS: Record<Exclude<keyof NewEvent, 'definition'>, 'needed' | 'optional' | 'time'> = {
  type: 'needed',
  aggregateType: 'needed',
  aggregateId: 'needed',
  payload: 'needed',
  eventId: 'optional',
  version: 'optional',
  companyId: 'optional',
  orgUnitId: 'optional',
  correlationId: 'optional',
  causationId: 'optional',
  headers: 'optional',
  occurredAt: 'time',
  availableAt: 'time',
};

/** ISO 8601 with a zone: a time without one would mean another moment on another machine. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/;

/**
 * An event from a line of NDJSON. Optional fields may be null. What the fields hold is checked by `enqueueEvents`.
 *
 * @throws Error that says what is wrong with the line, without quoting its payload
 */
export function eventOfLine(text: string): NewEvent {
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`it is ${kindOf(value)}, not a JSON object`);
  }
  const event: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(value)) {
    const kind = Object.hasOwn(FIELDS, name) ? FIELDS[name as keyof typeof FIELDS] : undefined;
    if (!kind) {
      throw new Error(
        `it has a field ${JSON.stringify(name.slice(0, 60))}; the fields are ${Object.keys(FIELDS).join(', ')}`,
      );
    }
    if (given === null && kind !== 'needed') continue;
    event[name] = kind === 'time' ? timeOf(name, given) : given;
  }
  const missing = Object.entries(FIELDS).filter(([name, kind]) => kind === 'needed' && !Object.hasOwn(event, name));
  if (missing.length > 0) throw new Error(`it lacks ${missing.map(([name]) => name).join(', ')}`);
  return event as unknown as NewEvent;
}

function parse(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text around the mistake, which may be personal.
    throw new Error('it is not valid JSON');
  }
  if (roundsANumber(text)) {
    throw new Error('it holds a number with more digits than a reader can keep apart; send it as text');
  }
  return value;
}

function timeOf(name: string, given: unknown): Date {
  const time = typeof given === 'string' && TIME.test(given) && hasDay(given) ? new Date(given) : undefined;
  if (!time || Number.isNaN(time.getTime())) {
    throw new Error(`${name} must be a time with a zone as ISO 8601, such as 2026-07-01T08:30:00Z`);
  }
  return time;
}

/** JavaScript makes the 3rd of March of the 31st of February. */
function hasDay(text: string): boolean {
  const [year = NaN, month = NaN, day = NaN] = text.slice(0, 10).split('-').map(Number);
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

/** A double keeps 15 significant digits of any decimal number, so only longer ones need a look. */
const LONG_NUMBER = /\d[\d.]{15}/;

/**
 * Whether `JSON.parse` loses digits of a number in this (valid) JSON text: an amount of 18 digits would be stored
 * rounded, and nobody would notice.
 */
export function roundsANumber(json: string): boolean {
  if (!LONG_NUMBER.test(json)) return false;
  const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at);
    if (char === 0x22) {
      // A string: on to its closing quote, past what a backslash escapes.
      for (at++; at < json.length && json.charCodeAt(at) !== 0x22; at++) if (json.charCodeAt(at) === 0x5c) at++;
    } else if (char === 0x2d || (char >= 0x30 && char <= 0x39)) {
      number.lastIndex = at;
      const found = number.exec(json)?.[0] ?? '-';
      if (isRounded(found)) return true;
      at += found.length - 1;
    }
  }
  return false;
}

function isRounded(text: string): boolean {
  const digits = significant(text);
  if (digits.length <= 15) return false;
  // The shortest text of the double that was read, or the same number of digits of it: either must be what was written.
  const read = Number(text);
  return significant(String(read)) !== digits && significant(read.toPrecision(Math.min(digits.length, 100))) !== digits;
}

/** The digits of a number from the first to the last that is not 0. */
function significant(text: string): string {
  const mantissa = text.replace(/[eE].*$/, '').replace(/[^\d]/g, '');
  return mantissa.replace(/^0+/, '').replace(/0+$/, '');
}
