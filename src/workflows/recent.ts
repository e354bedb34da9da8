const STEP_MS = 5_000;
const KEPT_MS = 60_000;

/** Events counted within some seconds, beginning at this time: milliseconds since 1970, workflow time. */
export type RecentStep = readonly [beginsAtMs: number, count: number];

/**
 * Counts of the last minute, for a rate that one look can tell. Whoever shows it leaves out what has grown older: while
 * nothing happens the workflow's time stands still, and its minute with it.
 */
export function counted(steps: readonly RecentStep[], count: number, now: Date): readonly RecentStep[] {
  if (count === 0) return steps;
  const at = now.getTime() - (now.getTime() % STEP_MS);
  const kept = steps.filter(([begins]) => begins > at - KEPT_MS && begins !== at);
  const before = steps.find(([begins]) => begins === at)?.[1] ?? 0;
  return [...kept, [at, before + count]];
}
