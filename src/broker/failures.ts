import type { Outcome } from './broker';

/** JetStream's error codes that decide; the others are worth another try as well, with their description. */
const MESSAGE_TOO_LARGE = 10054;

/** A reason is stored with the row and compared with others: bounded, without control characters. */
const MAX_REASON = 300;

type Failure = Exclude<Outcome, { kind: 'published' }>;

/**
 * Sorts what a publish threw. Told by names and codes, never by the wording of a message: the client wraps some causes
 * in classes that it does not export, and reports an outage as a time-out, a "not enabled" or a plain TypeError (C06).
 */
export function sortFailure(error: unknown, subject: string): Failure {
  const names = namesOf(error);
  const has = (...wanted: string[]) => wanted.some((name) => names.includes(name));

  if (has('InvalidArgumentError', 'InvalidSubjectError')) return { kind: 'refused', reason: reasonOf(error) };
  if (has('TimeoutError')) return { kind: 'unanswered', reason: 'the broker did not answer in time' };
  if (has('JetStreamApiError')) {
    const { code } = error as { code?: unknown };
    const reason = `the broker refused it: ${reasonOf(error)} (code ${String(code)})`;
    return code === MESSAGE_TOO_LARGE ? { kind: 'refused', reason } : { kind: 'later', reason };
  }
  if (has('JetStreamNotEnabled', 'NoRespondersError')) {
    return { kind: 'later', reason: `no stream takes the subject ${subject}` };
  }
  if (has('ClosedConnectionError', 'DrainingConnectionError', 'ConnectionError', 'TypeError', 'ProtocolError')) {
    return { kind: 'away', reason: `the connection to the broker failed: ${reasonOf(error)}` };
  }
  if (has('SyntaxError', 'JetStreamError')) {
    return { kind: 'later', reason: `the answer on subject ${subject} was no acknowledgement` };
  }
  return { kind: 'later', reason: reasonOf(error) };
}

function namesOf(error: unknown): string[] {
  const names: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) names.push(at.name);
  return names;
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  // eslint-disable-next-line no-control-regex -- these are the characters to be replaced
  return text.replace(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, MAX_REASON);
}
