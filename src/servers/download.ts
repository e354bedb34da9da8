/** A connection that is silent for this long is given up. */
const SILENCE_MS = 30_000;

/** The body of `url`. Rejects with an error whose message is the bare reason, for use inside a sentence. */
export async function download(url: string, headers: Record<string, string> = {}): Promise<Uint8Array> {
  const silence = new AbortController();
  const giveUp = () => silence.abort(new Error(`no data for ${SILENCE_MS / 1000} s`));
  let timer = setTimeout(giveUp, SILENCE_MS);
  try {
    const response = await fetch(url, { headers, signal: silence.signal });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body ?? []) {
      clearTimeout(timer);
      timer = setTimeout(giveUp, SILENCE_MS);
      chunks.push(chunk as Uint8Array);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    throw new Error(reason(error), { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** `fetch` says only "fetch failed" and hides why in the cause. */
function reason(error: unknown): string {
  const { message, cause } = error as Error;
  if (!(cause instanceof Error)) return message;
  const { code } = cause as NodeJS.ErrnoException;
  const said = cause.message || code || message;
  return /certificate/i.test(said) ? `${said}; NODE_EXTRA_CA_CERTS names a file of further ones` : said;
}
