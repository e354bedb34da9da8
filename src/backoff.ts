/** First wait of the shared schedule: long enough for a restart elsewhere, short enough not to be noticed. */
export const BACKOFF_FIRST_MS = 5_000;
/** Longest wait: what has been broken for long is looked at every five minutes. */
export const BACKOFF_MAX_MS = 300_000;

/**
 * The one schedule for everything that is tried again: `first × 2^(attempt − 1)`, at most `max`. No jitter, so that an
 * operator can foretell the next attempt. Never NaN, negative or infinite, whatever `attempt` is.
 *
 * @param attempt the attempt that failed, from 1
 * @returns milliseconds until the next one
 */
export function retryBackoff(attempt: number, first = BACKOFF_FIRST_MS, max = BACKOFF_MAX_MS): number {
  const doublings = Number.isFinite(attempt) ? Math.max(0, Math.floor(attempt) - 1) : attempt > 0 ? Infinity : 0;
  // 2^31 is past every maximum a setting can hold; the clamp keeps the product finite.
  return Math.min(first * 2 ** Math.min(doublings, 31), max);
}
