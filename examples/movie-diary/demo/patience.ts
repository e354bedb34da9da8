import { setTimeout as sleep } from 'node:timers/promises';

/** After so long without progress something is in the way, and whoever watches is told where to look. */
const NOTE_AFTER_MS = 10_000;
const LOOK_EVERY_MS = 250;

export interface Patience {
  readonly signal: AbortSignal;
  /** How long nothing may move before the wait is given up. */
  readonly ms: number;
  /** Takes the hint when nothing moves. Default: nobody. */
  readonly tell?: (hint: string) => void;
}

export interface Awaited {
  /** How much is left to do. */
  readonly left: () => Promise<number>;
  readonly onProgress?: (left: number) => void;
  /** What does not happen when nothing moves, and where to look then. */
  readonly stuck: string;
}

/** Nothing moved for as long as somebody was ready to wait. */
export class StuckError extends Error {
  override readonly name = 'StuckError';
}

/** Resolves when nothing is left to do. @throws StuckError when nothing moved for as long as the patience lasts */
export async function waitFor({ left, onProgress, stuck }: Awaited, { signal, ms, tell }: Patience): Promise<void> {
  let last = Infinity;
  let since = performance.now();
  let told = false;
  for (;;) {
    signal.throwIfAborted();
    const now = await left();
    onProgress?.(now);
    if (now === 0) return;
    // More counts as well: what is done leads to more.
    if (now !== last) since = performance.now();
    last = now;
    const still = performance.now() - since;
    if (still > ms) throw new StuckError(`${now} left, and nothing moved for ${Math.round(still / 1_000)} s: ${stuck}`);
    if (still > NOTE_AFTER_MS && !told) {
      told = true;
      tell?.(`\n${now} left, and nothing moves: ${stuck}`);
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}
