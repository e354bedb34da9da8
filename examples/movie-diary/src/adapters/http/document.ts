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
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  const answer = await fetch(uri, {
    headers: { accept: 'application/activity+json' },
    redirect: 'error',
    signal: signal ? AbortSignal.any([signal, limit]) : limit,
  }).catch((cause: unknown) => {
    throw new Error(`${hostOf(uri)} did not answer`, { cause });
  });
  const text = await bounded(answer, uri);
  if (!answer.ok) throw new Error(`${hostOf(uri)} answered ${answer.status} instead of a document`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${hostOf(uri)} answered with something that is not JSON`);
  }
}

async function bounded(answer: Response, uri: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.byteLength;
    // Leaving the loop closes the connection.
    if (size > MAX_BYTES) throw new Error(`${hostOf(uri)} answered with more than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Paths name people; a log does not need them. */
function hostOf(uri: string): string {
  return new URL(uri).host;
}
