/** The value that `share` (0 to 1) of all values do not exceed; nearest rank, so it is one that was measured. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return low === undefined || high === undefined ? NaN : (low + high) / 2;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Three figures say all that a measurement on a shared machine knows. */
export function round(value: number): number {
  return Number.isFinite(value) ? Number(value.toPrecision(value >= 1_000 ? 4 : 3)) : value;
}
