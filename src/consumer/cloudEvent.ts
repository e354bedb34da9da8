import { decodeHeaderValue } from '../broker/headers';

/** What is used of a CloudEvent that somebody else published. */
export interface CloudEvent {
  readonly id: string;
  readonly source: string;
  readonly type: string | undefined;
  readonly time: string | undefined;
  readonly subject: string | undefined;
  readonly partitionkey: string | undefined;
  readonly correlationid: string | undefined;
  readonly causationid: string | undefined;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
}

/** Its attributes from the headers of binary mode; undefined when the message is no CloudEvent in that mode. */
export function readCloudEvent(fields: ReadonlyMap<string, string>): CloudEvent | undefined {
  const attributes = new Map<string, string>();
  // In any case: what passed through HTTP may have become `Ce-Id`.
  for (const [key, value] of fields) if (/^ce-/i.test(key)) attributes.set(key.slice(3).toLowerCase(), valueOf(value));
  const get = (name: string) => attributes.get(name) || undefined;
  const id = get('id');
  if (id === undefined || get('specversion') === undefined) return undefined;
  return {
    id,
    source: get('source') ?? '',
    type: get('type'),
    time: get('time'),
    subject: get('subject'),
    partitionkey: get('partitionkey'),
    correlationid: get('correlationid'),
    causationid: get('causationid'),
    traceparent: get('traceparent'),
    tracestate: get('tracestate'),
  };
}

/** Older versions of the binding put a value with blanks into quotes. */
function valueOf(value: string): string {
  const quoted = /^"(.*)"$/s.exec(value)?.[1];
  return decodeHeaderValue(quoted === undefined ? value : quoted.replace(/\\(.)/gs, '$1'));
}
