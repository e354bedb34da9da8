import { setTimeout as sleep } from 'node:timers/promises';

const WITHIN_MS = 120_000;

/** Looks until it is so. @throws Error when it is not within `withinMs` */
export async function until(look: () => Promise<boolean>, pollMs = 10, withinMs = WITHIN_MS): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`what was waited for did not come about within ${withinMs} ms`);
    await sleep(pollMs);
  }
}
