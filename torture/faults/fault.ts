import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random';
import type { Actor, Backend, World } from '../world/world';

/** What a fault must know before there is a world to strike: with the seed it is all that a plan depends on. */
export interface Scene {
  readonly backend: Backend;
  readonly workers: number;
  readonly producers: number;
  /** In milliseconds; what is frozen or cut off for longer has lost its claims. */
  readonly leaseMs: number;
  /** Everything shorter. */
  readonly short: boolean;
}

/** A fault with all that was left to chance decided. */
export interface Aim {
  /** For the plan, in a few words. */
  readonly what: string;
  /** Does it, and heals it. Resolves when what it took away is there again. */
  readonly strike: (world: World) => Promise<void>;
}

export interface Fault {
  /** `<noun>-<verb>`; either chooses it on the command line. */
  readonly name: string;
  /** Default: both. */
  readonly backend?: Backend;
  /** Nouns of faults that would keep it from striking at all: it is never paired with one of them. */
  readonly needs?: readonly string[];
  aim(random: Random, scene: Scene): Aim;
}

/** How long something is away, in milliseconds: mostly for less than a lease, at times beyond it. */
export function spell(random: Random, { leaseMs, short }: Scene): number {
  if (random.chance(25)) return Math.round(leaseMs * 1.3);
  return short ? random.between(300, 2_500) : random.between(500, 12_000);
}

export const wait = (ms: number) => () => sleep(ms, undefined);

/** `2.5 s`. */
export const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

export function actorOf(actors: readonly Actor[], index: number): Actor {
  const actor = actors[index];
  if (!actor) throw new Error(`there is no actor ${index + 1}`);
  return actor;
}

const INSIST_MS = 60_000;

/** Heals, also while another fault is in the way of it. */
export async function insist<T>(heal: () => Promise<T>): Promise<T> {
  const end = performance.now() + INSIST_MS;
  for (;;) {
    try {
      return await heal();
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(250);
    }
  }
}
