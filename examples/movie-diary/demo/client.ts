import { setTimeout as sleep } from 'node:timers/promises';

const TIMEOUT_MS = 10_000;
const PAUSE_MS = 250;
/** Two changes of one thing at once are over at the next look; what conflicts for so long conflicts for good. */
const MOST_CONFLICTS = 20;

export interface Step {
  readonly instance: 'first' | 'second';
  readonly method: 'PUT' | 'PATCH' | 'POST' | 'DELETE';
  readonly path: string;
  /** JSON, or text as it is. */
  readonly body?: object | string;
}

export interface Answered {
  /** Answers that were no success: a repeat of what is done already. */
  readonly status: number;
  readonly tries: number;
}

/**
 * Sends a request until it is answered. A request whose answer is lost is sent again, as its effect may be there or not;
 * every route of the application makes of a repeat the same as of one. What is to be changed or deleted and is gone is what
 * the repeat of a deletion finds, and of a diary that was replayed before.
 *
 * @throws Error for an answer that no repeat will change
 */
export async function send(
  origins: Readonly<Record<Step['instance'], string>>,
  step: Step,
  signal: AbortSignal,
): Promise<Answered> {
  let conflicts = 0;
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    const answer = await tryOnce(`${origins[step.instance]}${step.path}`, step, signal);
    if (answer && (answer.status < 300 || isGone(answer.status, step))) return { status: answer.status, tries };
    if (answer?.status === 409) conflicts++;
    // A server that fails or is not there will come back.
    if (answer && answer.status < 500 && (answer.status !== 409 || conflicts > MOST_CONFLICTS))
      throw new Error(`${step.method} ${step.path} was answered with ${answer.status}: ${answer.text.slice(0, 300)}`);
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

function isGone(status: number, { method }: Step): boolean {
  return status === 410 || (status === 404 && (method === 'PATCH' || method === 'DELETE'));
}

async function tryOnce(url: string, { method, body }: Step, signal: AbortSignal) {
  const type = typeof body === 'string' ? 'text/csv' : 'application/json';
  try {
    const answer = await fetch(url, {
      method,
      ...(body !== undefined && {
        headers: { 'content-type': type },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    return { status: answer.status, text: await answer.text() };
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
