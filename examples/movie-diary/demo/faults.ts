import { seeded } from './seeded';

/** What a service does to its callers; shares of 1. */
export interface Faults {
  /** At least and at most. */
  readonly delayMs: readonly [number, number];
  /** Answered with 503. */
  readonly unavailable: number;
  /** The connection is reset in place of an answer. */
  readonly reset: number;
}

/** A service on a usual day. */
export const USUAL_FAULTS: Faults = { delayMs: [2, 40], unavailable: 0.03, reset: 0.01 };
export const NO_FAULTS: Faults = { delayMs: [0, 0], unavailable: 0, reset: 0 };

export type Fate = 'answer' | 'unavailable' | 'reset';

/** Of the nth call for a path: the same calls fail in each run with a seed, in whatever order they come. */
export function fateOf(faults: Faults, seed: number, path: string, call: number): { fate: Fate; delayMs: number } {
  const random = seeded(seed ^ hashOf(path) ^ Math.imul(call, 0x85ebca6b));
  const chance = random();
  const [least, most] = faults.delayMs;
  const delayMs = least + random() * (most - least);
  if (chance < faults.unavailable) return { fate: 'unavailable', delayMs };
  return { fate: chance < faults.unavailable + faults.reset ? 'reset' : 'answer', delayMs };
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
