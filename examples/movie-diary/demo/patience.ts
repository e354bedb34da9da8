import { setTimeout as sleep } from 'node:timers/promises';

/** After so long without progress something is in the way, and whoever watches is told where to look. */
const NOTE_AFTER_MS = 10_000;
const LOOK_EVERY_MS = 250;

export interface Patience {
  readonly signal: AbortSignal;
  /** How long nothing may move before the wait is given up. */
  readonly ms: number;
}

export interface Awaited {
  /** How much is left to do. */
  readonly left: () => Promise<number>;
  readonly onProgress?: (left: number) => void;
  /** Changes while something moves that is not ours: what an interrupted run left is handled first. */
  readonly sign?: () => Promise<unknown>;
  /** What does not happen when nothing moves, and where to look then. */
  readonly stuck: string;
}

/** Resolves when nothing is left to do. @throws Error when nothing moved for as long as the patience lasts */
export async function waitFor({ left, onProgress, sign, stuck }: Awaited, { signal, ms }: Patience): Promise<void> {
  let least = Infinity;
  let since = performance.now();
  let told = false;
  let lastSign: unknown;
  for (;;) {
    signal.throwIfAborted();
    const now = await left();
    onProgress?.(now);
    if (now === 0) return;
    const seen = await sign?.();
    if (now < least || seen !== lastSign) since = performance.now();
    least = Math.min(least, now);
    lastSign = seen;
    const still = performance.now() - since;
    if (still > ms) throw new Error(`${now} left, and nothing moved for ${Math.round(still / 1_000)} s: ${stuck}`);
    if (still > NOTE_AFTER_MS && !told) {
      told = true;
      console.log(`\n${now} left, and nothing moves: ${stuck}`);
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}
