const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };
const AGE = /^(\d+)(ms|s|min|h|d)$/;

/** Shorter ones are a slip of a unit: what has just been done would be gone before anybody could look at it. */
const LEAST_MS = 1_000;
/** 100 years; what shall be kept longer is kept for ever. */
const MOST_MS = 100 * 365 * 86_400_000;

export const AGE_WANTED = 'an age such as 90d, 36h, 30min or 45s (from 1s to 36500d)';

/** @returns milliseconds; undefined for what is no age */
export function readAge(text: string): number | undefined {
  const [, digits, unit = ''] = AGE.exec(text) ?? [];
  const ms = Number(digits) * (UNITS[unit] ?? NaN);
  return ms >= LEAST_MS && ms <= MOST_MS ? ms : undefined;
}

/** The largest unit that says it exactly. */
export function ageText(ms: number): string {
  const [unit, size] = Object.entries(UNITS)
    .reverse()
    .find(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}
