import fc from 'fast-check';
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, retryBackoff } from '../../src/backoff';

describe('retryBackoff', () => {
  it('waits 5, 10, 20, 40, 80, 160 and then 300 seconds (C31)', () => {
    const seconds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 31, 64, 1_100].map((attempt) => retryBackoff(attempt) / 1_000);
    expect(seconds).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300, 300, 300, 300, 300]);
  });

  it.each([
    [NaN, BACKOFF_FIRST_MS],
    [-Infinity, BACKOFF_FIRST_MS],
    [-5, BACKOFF_FIRST_MS],
    [0, BACKOFF_FIRST_MS],
    [1.9, BACKOFF_FIRST_MS],
    [2.1, 2 * BACKOFF_FIRST_MS],
    [Number.MAX_SAFE_INTEGER, BACKOFF_MAX_MS],
    [Infinity, BACKOFF_MAX_MS],
  ])('gives a wait for the attempt %d, too', (attempt, wait) => {
    expect(retryBackoff(attempt)).toBe(wait);
  });

  it('never shrinks, never passes the maximum, is never NaN, negative or infinite (C31)', () => {
    const anyMs = fc.integer({ min: 1, max: 2_147_483_647 });
    fc.assert(
      fc.property(fc.oneof(fc.integer(), fc.double()), anyMs, anyMs, (attempt, first, max) => {
        const wait = retryBackoff(attempt, first, max);
        expect(Number.isFinite(wait)).toBe(true);
        expect(wait).toBeGreaterThanOrEqual(Math.min(first, max));
        expect(wait).toBeLessThanOrEqual(max);
        expect(retryBackoff(attempt + 1, first, max)).toBeGreaterThanOrEqual(wait);
      }),
    );
  });
});
