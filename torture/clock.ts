/**
 * Milliseconds by the machine's monotonic clock, which all processes share and no fault moves: the storm shifts the
 * workers' wall clocks, and what happened first must be known all the same.
 */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
