const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');

/**
 * Whether PostgreSQL has this time, in milliseconds since 1970. JavaScript goes back to 271,822 BC: a statement with such a
 * time is refused, at every try. NaN, as `Date.parse` gives for what is no time, is none either.
 */
export function isStorableTime(ms: number): boolean {
  return ms >= FIRST_MS;
}
