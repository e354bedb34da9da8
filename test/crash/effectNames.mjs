/**
 * What an effect is called, from what passes by on its way to a server: the name of a statement, what a NATS message is
 * for, the call of Temporal with what it concerns. `undefined`: it only looks. The catalog (`points/catalog.ts`) has these names.
 */

/** The name with which a statement of the package begins. */
export function statementName(text) {
  return /^\s*\/\* outbox: ([^*]+) \*\//.exec(text)?.[1];
}

const NATS_LOOKS = /^\$JS\.API\.(INFO|STREAM\.(INFO|NAMES|LIST|MSG\.GET)|CONSUMER\.(INFO|NAMES|LIST)|DIRECT\.GET)\b/;
/** Workers ask one another what they have in hand, and answer to an inbox: nothing is stored (`points/elsewhere.ts`). */
const NATS_ASKS = /^_(OUTBOX\.HELD|INBOX)\./;

/** @param reply where the answer is to go: the stream's, without which nobody says that it has the message */
export function natsEffect(subject, body, headers, reply) {
  if (NATS_LOOKS.test(subject) || NATS_ASKS.test(subject)) return undefined;
  const advisories = /_ADVISORIES\b/.test(subject) ? 'advisories ' : '';
  if (subject.startsWith('$JS.ACK.')) return `nats ${advisories}${/^[-+]\w+/.exec(body)?.[0] ?? '+ACK'}`;
  const [, of, what] = /^\$JS\.API\.(STREAM|CONSUMER)\.(?:DURABLE\.)?(MSG\.\w+|\w+)/.exec(subject) ?? [];
  if (of) return `nats ${advisories}${of}.${what}`;
  if (!headers?.has('Nats-Batch-Id')) return reply ? 'nats publish' : 'nats core publish';
  if (headers.has('Nats-Batch-Commit')) return 'nats batch commit';
  return headers.get('Nats-Batch-Sequence') === '1' ? 'nats batch begin' : 'nats batch add';
}

const TEMPORAL_LOOKS = /^(Describe|Query|List|Get|Count|Poll)/;

export function temporalEffect(call, { workflowType, signalName, request: update }) {
  if (TEMPORAL_LOOKS.test(call)) return undefined;
  const about = workflowType?.name ?? signalName ?? update?.input?.name;
  return `temporal ${call}${about ? ` ${about}` : ''}`;
}
