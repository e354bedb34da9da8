import { types } from 'node:util';
import { EnqueueError } from '../errors';
import { measureJson } from './measureJson';
import { quote, textFlaw, type Refuse } from './refuse';

/**
 * PostgreSQL with its default `max_stack_depth` gives up at about 13,000 levels, by an error that aborts the caller's
 * transaction; `JSON.stringify` gives up at 2,000 or at 20,000, as the process was started. A limit below all of them
 * refuses the same payloads everywhere.
 */
const MAX_DEPTH = 1_000;

/** The most digits behind the point that `numeric` has room for. */
const MAX_DECIMALS = 16_383;

interface WithRawJson {
  /** Node has it from version 21 on. */
  readonly isRawJSON?: (value: object) => value is { rawJSON: string };
}

/** The text of a `JSON.rawJSON(…)`. */
function rawOf(given: object): string | undefined {
  return (JSON as WithRawJson).isRawJSON?.(given) ? given.rawJSON : undefined;
}

/** Whether PostgreSQL has room for this number, which JavaScript takes for 0 or another that is none too large. */
function isStorable(raw: string): boolean {
  const [, decimals = '', exponent = '0'] = /^[^.e]+(?:\.(\d+))?(?:e(.+))?$/i.exec(raw) ?? [];
  return Number(exponent) <= MAX_DECIMALS && decimals.length - Number(exponent) <= MAX_DECIMALS;
}

/**
 * `new String(…)` and the like as the value that `JSON.stringify` would write. It unwraps them itself only after its
 * replacer has seen them, and what they hold would go unchecked.
 */
function unwrap(given: object): unknown {
  if (!types.isBoxedPrimitive(given)) return given;
  if (types.isStringObject(given)) return String(given);
  if (types.isNumberObject(given)) return Number(given);
  if (types.isBooleanObject(given)) return Boolean.prototype.valueOf.call(given);
  if (types.isBigIntObject(given)) return BigInt.prototype.valueOf.call(given);
  return given;
}

/** The payload as JSON. What PostgreSQL cannot store, and numbers that a reader would get changed, are refused. */
export function encodePayload(payload: unknown, maxBytes: number, refuse: Refuse): string {
  const check = (key: string, given: unknown): unknown => {
    const object = typeof given === 'object' && given !== null ? given : undefined;
    const raw = object && rawOf(object);
    const value: unknown = raw !== undefined ? JSON.parse(raw) : object ? unwrap(object) : given;
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
      if (raw !== undefined) {
        if (!isStorable(raw)) refuse('unsafe-number', `${at()} is raw JSON with too many digits for PostgreSQL`);
        // With the digits that it was given, which may be more than a number of JavaScript keeps.
        return given;
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
