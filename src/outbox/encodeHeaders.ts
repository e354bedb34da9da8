import { DERIVED_HEADER, NAME, RESERVED_HEADER } from '../event';
import { quote, textFlaw, type Refuse } from './refuse';

/**
 * Body and headers share the broker's limit; 16 KiB are kept for the headers. Those of the record and the CloudEvent need
 * up to 3 KiB beside the texts that are counted here.
 */
const MAX_HEADER_BYTES = 13 * 1024;

/** Headers of an application's own extension attributes, of which more is encoded. */
const CLOUD_EVENT = /^ce-/i;

/** What the active trace context adds to each event's headers, see `activeHeaders`. */
export type Ambient = Readonly<Record<string, unknown>>;

/**
 * The caller's headers, then what the trace context adds to them. The caller did not write the latter and could not
 * mend it, so what cannot be sent of it is left out, and never a reason to refuse the event. A `traceparent` of the
 * caller's stands alone: the state of another trace beside it would be wrong.
 */
export function encodeHeaders(
  given: unknown,
  texts: readonly (string | undefined)[],
  ambient: Ambient,
  refuse: Refuse,
): Record<string, string> | undefined {
  if (given !== undefined && !isPlain(given)) refuse('invalid-headers', 'headers must be a plain object of texts');
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

/** What a `Map` or the `Headers` of the web hold are no properties of theirs, and would be left out in silence. */
function isPlain(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false;
  const prototype: unknown = Object.getPrototypeOf(given);
  // The prototype of plain objects is told by having none itself: it may be one of another realm, such as a `vm` context.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** At most what these texts need in a message: whatever is not plain ASCII is sent percent-encoded. */
function headerBytes(...texts: string[]): number {
  return texts.reduce(
    (sum, text) => sum + 2 + (/^[\x20-\x24\x26-\x7e]*$/.test(text) ? text.length + 4 : encodeURIComponent(text).length),
    0,
  );
}
