import type { CommandFailure } from './failure';

/** How long a server may say nothing behind a stop: far longer than a statement takes, and short for whoever waits. */
export const STUCK_MS = 5_000;

/**
 * The result of the work, unless it is still under way `ms` after the stop: a server that stands still must not keep a
 * command that was told to end, since nothing else would end it. What becomes of the work then is left to `giveUp`.
 *
 * @throws what `giveUp` returns, or what the work threw
 */
export async function unlessStuck<T>(
  work: Promise<T>,
  stop: AbortSignal,
  ms: number,
  giveUp: () => CommandFailure,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let begin = (): void => undefined;
  const stuck = new Promise<never>((_, reject) => {
    begin = () => (timer = setTimeout(() => reject(giveUp()), ms));
    if (stop.aborted) begin();
    else stop.addEventListener('abort', begin, { once: true });
  });
  try {
    return await Promise.race([work, stuck]);
  } finally {
    stop.removeEventListener('abort', begin);
    clearTimeout(timer);
  }
}
