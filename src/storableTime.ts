const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Whether PostgreSQL has this time, in milliseconds since 1970. JavaScript goes on for 270,000 years in both directions:
 * a statement with such a time is refused, at every try. NaN, as `Date.parse` gives for what is no time, is none either.
 */
export function isStorableTime(ms: number): boolean {
  return ms >= FIRST_MS && ms <= LAST_MS;
}
