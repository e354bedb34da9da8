export interface Exchanged {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

export interface Bounds {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * One request and its whole answer, bounded in time and size: a service that is slow or talks without end costs its
 * caller no more than that.
 *
 * @param what completes the sentence "… could not be reached"; never a URL, which may hold secrets
 * @throws Error when there is no answer, or not all of it; a status is for the caller to judge
 */
export async function exchange(
  what: string,
  send: (signal: AbortSignal) => Promise<Response>,
  { timeoutMs, maxBytes, signal }: Bounds,
): Promise<Exchanged> {
  signal?.throwIfAborted();
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await send(signal ? AbortSignal.any([signal, timeout]) : timeout);
    return { status: response.status, headers: response.headers, body: await bodyOf(response, maxBytes, what) };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof TooLarge) throw error;
    if (timeout.aborted) throw new Error(`${what} gave no answer within ${timeoutMs} ms`, { cause: error });
    throw new Error(`${what} could not be reached: ${reasonOf(error)}`, { cause: error });
  }
}

class TooLarge extends Error {}

async function bodyOf(response: Response, maxBytes: number, what: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early ends the connection.
  const stream: AsyncIterable<Uint8Array> | never[] = response.body ?? [];
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > maxBytes) throw new TooLarge(`${what} answered with more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** `fetch failed` says nothing: what did is the cause of it. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: string; message?: string } };
  return cause?.code ?? cause?.message ?? message;
}
