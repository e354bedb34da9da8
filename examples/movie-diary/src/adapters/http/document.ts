import { exchange } from './exchange';

/** An actor is a few kilobytes; whoever sends more means ill. */
const MAX_BYTES = 256 * 1024;
/** Far below a handler's time-out, and what a client waits for an answer. */
const TIMEOUT_MS = 5_000;

/**
 * A document of another instance, which is not trusted: neither with time nor with memory, and not to point elsewhere.
 *
 * @throws Error when it does not answer with one
 */
export async function fetchDocument(uri: string, signal?: AbortSignal): Promise<unknown> {
  // Paths name people; a log does not need them.
  const { host } = new URL(uri);
  const { status, body } = await exchange(
    host,
    (bounded) => fetch(uri, { headers: { accept: 'application/activity+json' }, redirect: 'error', signal: bounded }),
    { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, signal },
  );
  if (status !== 200) throw new Error(`${host} answered ${status} instead of a document`);
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new Error(`${host} answered with something that is not JSON`);
  }
}
