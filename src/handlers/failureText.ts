import { sqlRefusal } from '../sqlFailure';
import { isThenable } from './isThenable';
import { storable } from './storable';

export interface FailureAbout {
  readonly eventId?: string;
  readonly handler?: string;
}

/** The user's own rule for what may be told of a failure: gets the text before it is stored or logged, and gives another. */
export type RedactFailure = (message: string, about: FailureAbout) => string;

/** Stored with each failed attempt and written to the log: enough for a reason, too little for a page of data. */
const MAX_BYTES = 2_048;
/**
 * What the hook gets to see of one message. More than is kept, since a rule for, say, an address finds no half of one
 * that was cut; and not all of it, since 5 MB of text would keep a regular expression busy for seconds.
 */
const MAX_MESSAGE = 8_192;
const MAX_NAME = 100;
const MAX_CAUSES = 3;
const MAX_ERRORS = 3;

const UNREADABLE = 'what was thrown could not be read';
const WITHHELD = 'the reason was withheld';

/**
 * Why a handler failed, as text that can be stored. Never throws and never empty, whatever was thrown: at most 2,048
 * bytes of UTF-8, without NUL and half characters.
 */
export function failureText(thrown: unknown, redact?: RedactFailure, about: FailureAbout = {}): string {
  let text = UNREADABLE;
  try {
    text = describe(thrown);
  } catch {
    // A getter or a proxy that throws: then that is all there is to say.
  }
  if (redact) text = redacted(text, redact, about);
  return withinBytes(storable(text, MAX_MESSAGE)) || 'no reason was given';
}

/** The kind of failure: the error's name, or its code where it has no name of its own. Never throws, never empty. */
export function failureName(thrown: unknown): string {
  try {
    if (typeof thrown !== 'object' || thrown === null) return 'Unknown';
    const { name, code } = thrown as { name?: unknown; code?: unknown };
    // `pg` names every error `error`; its SQLSTATE tells them apart.
    const named = typeof name === 'string' && !/^(error)?$/i.test(name);
    if (named) return storable(name, MAX_NAME);
    if (typeof code === 'string' && code !== '') return storable(code, MAX_NAME);
    return typeof name === 'string' && name !== '' ? name : 'Unknown';
  } catch {
    return 'Unknown';
  }
}

function describe(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown.slice(0, MAX_MESSAGE) || 'an empty text was thrown, which is no Error';
  if (typeof thrown !== 'object' || thrown === null) return `${String(thrown)} was thrown, which is no Error`;
  const parts = [messageOf(thrown)];
  const { errors } = thrown as { errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) {
    const told = errors.slice(0, MAX_ERRORS).map(safely);
    const more = errors.length > MAX_ERRORS ? `; and ${errors.length - MAX_ERRORS} more` : '';
    parts.push(`[${told.join('; ')}${more}]`);
  }
  const seen = new Set<unknown>([thrown]);
  let at = causeOf(thrown);
  for (let depth = 0; depth < MAX_CAUSES && at !== undefined && at !== null && !seen.has(at); depth++) {
    seen.add(at);
    parts.push(`(cause: ${safely(at)})`);
    at = causeOf(at);
  }
  return parts.join(' ');
}

/** `instanceof` would miss the errors of another realm, and an error of a Temporal activity is one of many classes. */
function messageOf(thrown: object): string {
  const refusal = sqlRefusal(thrown);
  if (refusal) return refusal;
  const { message, query, params } = thrown as { message?: unknown; query?: unknown; params?: unknown };
  // drizzle's message ends in the values of the statement; its cause says what went wrong.
  if (typeof query === 'string' && Array.isArray(params)) return 'a statement failed';
  if (typeof message === 'string' && message !== '') return withoutCauseValues(message.slice(0, MAX_MESSAGE), thrown);
  const name = failureName(thrown);
  return name === 'Unknown' ? 'an object was thrown that has no message' : name;
}

/** `new Error(`could not save: ${error.message}`, { cause: error })` must not tell what the cause may not. */
function withoutCauseValues(message: string, thrown: object): string {
  let text = message;
  let at = causeOf(thrown);
  for (let depth = 0; depth < MAX_CAUSES && typeof at === 'object' && at !== null; depth++) {
    try {
      const refusal = sqlRefusal(at);
      const { message: quoted } = at as { message?: unknown };
      if (refusal && typeof quoted === 'string' && quoted !== '') text = text.replaceAll(quoted, () => refusal);
    } catch {
      return text;
    }
    at = causeOf(at);
  }
  return text;
}

function safely(thrown: unknown): string {
  try {
    if (typeof thrown === 'object' && thrown !== null) return messageOf(thrown);
    return typeof thrown === 'string' ? thrown.slice(0, MAX_MESSAGE) : String(thrown);
  } catch {
    return UNREADABLE;
  }
}

function causeOf(thrown: unknown): unknown {
  try {
    return (thrown as { cause?: unknown } | null | undefined)?.cause;
  } catch {
    return undefined;
  }
}

function redacted(text: string, redact: RedactFailure, about: FailureAbout): string {
  try {
    const given: unknown = redact(text, about);
    if (typeof given === 'string') return given.trim() === '' ? WITHHELD : given;
    // An async hook: its promise is nobody's, so that its rejection would end the process.
    if (isThenable(given)) Promise.resolve(given).catch(() => undefined);
    return `${WITHHELD}: redactFailure gave no text`;
  } catch {
    return `${WITHHELD}: redactFailure threw`;
  }
}

/** Whole characters only. */
function withinBytes(text: string): string {
  const encoder = new TextEncoder();
  const { read } = encoder.encodeInto(text, new Uint8Array(MAX_BYTES));
  if (read === text.length) return text;
  return `${text.slice(0, encoder.encodeInto(text, new Uint8Array(MAX_BYTES - 3)).read)}…`;
}
