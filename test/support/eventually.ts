import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Looks again and again until `look` returns something truthy without throwing; fails with the last reason after `ms`. The
 * default bounds what hangs: a machine that others use too may stand still for many seconds.
 */
export async function eventually<T>(
  look: () => Promise<T> | T,
  ms = 50_000,
  what = 'what was awaited',
): Promise<NonNullable<T>> {
  const end = performance.now() + ms;
  let last: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found) return found;
      last = found;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) {
      throw new Error(
        `${what} did not come about within ${ms} ms; last seen: ${last instanceof Error ? last.message : JSON.stringify(last)}`,
      );
    }
    await sleep(25);
  }
}
