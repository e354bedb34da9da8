import type { Outcome } from './broker';

/** JetStream's error codes that decide; the others are worth another try as well, with their description. */
const MESSAGE_TOO_LARGE = 10054;

/** A reason is stored with the row and compared with others: bounded, without control characters. */
const MAX_REASON = 300;

type Failure = Exclude<Outcome, { kind: 'published' | 'handed over' }>;

/**
 * Sorts what a publish threw. Told by names and codes, never by the wording of a message: the client wraps some causes
 * in classes that it does not export, and reports an outage as a time-out, a "not enabled" or a plain TypeError (C06).
 * Never throws itself, whatever was thrown.
 */
export function sortFailure(error: unknown, subject: string): Failure {
  const chain = chainOf(error);
  const find = (...wanted: string[]) => chain.find((at) => wanted.includes(read(at, 'name') as string));

  if (find('InvalidArgumentError', 'InvalidSubjectError')) return { kind: 'refused', reason: reasonOf(error) };
  if (find('TimeoutError')) return { kind: 'unanswered', reason: 'the broker did not answer in time' };
  const answer = find('JetStreamApiError');
  if (answer !== undefined) {
    const code = read(answer, 'code');
    const reason = `the broker refused it: ${reasonOf(answer)} (code ${typeof code === 'number' ? code : 'unknown'})`;
    return code === MESSAGE_TOO_LARGE ? { kind: 'refused', reason } : { kind: 'later', reason };
  }
  // The class NoRespondersError names itself NoResponders.
  if (find('JetStreamNotEnabled', 'NoResponders', 'NoRespondersError')) {
    return { kind: 'later', reason: `no stream takes the subject ${subject}` };
  }
  if (find('PermissionViolationError')) return { kind: 'later', reason: reasonOf(error) };
  if (find(...CONNECTION_LOST)) {
    return { kind: 'away', reason: `the connection to the broker failed: ${reasonOf(error)}` };
  }
  if (find('SyntaxError', 'JetStreamError')) {
    return { kind: 'later', reason: `the answer on subject ${subject} was no acknowledgement` };
  }
  return { kind: 'later', reason: reasonOf(error) };
}

/** A RequestError without one of the causes above was cancelled, because its connection closed. */
const CONNECTION_LOST = [
  'ClosedConnectionError',
  'DrainingConnectionError',
  'ConnectionError',
  'TypeError',
  'ProtocolError',
  'RequestError',
  'AuthorizationError',
  'UserAuthenticationExpiredError',
];

/** The error and its causes, at most five: a cause may be its own. */
function chainOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at = error; typeof at === 'object' && at !== null && chain.length < 5; at = read(at, 'cause'))
    chain.push(at);
  return chain;
}

/** Anything can be thrown, also what throws when it is looked at. */
function read(of: unknown, property: 'name' | 'message' | 'cause' | 'code'): unknown {
  try {
    return (of as Record<string, unknown>)[property];
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  const message = typeof error === 'object' && error !== null ? read(error, 'message') : error;
  const text = typeof message === 'string' ? message : 'something without a message was thrown';
  // Cut first: a message may be megabytes long, and what is replaced never grows.
  return (
    text
      .slice(0, MAX_REASON)
      // eslint-disable-next-line no-control-regex -- these are the characters to be replaced
      .replace(/[\u0000-\u001f\u007f]+/g, ' ')
      .toWellFormed() || 'no reason was given'
  );
}
