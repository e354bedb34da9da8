import type { BareProcess } from './bareProcess';
import { cpuMs } from './usage';

/** Who drains, and how it is told to. */
export interface Lane {
  readonly pid: number;
  start(): Promise<void>;
  /** Makes it idle again. */
  rest(): Promise<void>;
}

/** One drain. */
export interface Run {
  readonly perSecond: number;
  /** Of the lane's process. */
  readonly cpuMs: number;
}

export function bareLane(bare: BareProcess): Lane {
  return { pid: bare.pid, start: () => bare.drain(), rest: () => Promise.resolve() };
}

/** @param watch lets the drain begin, and resolves with the milliseconds that it took */
export async function drainOnce(
  lane: Lane,
  events: number,
  watch: (start: () => Promise<void>) => Promise<number>,
): Promise<Run> {
  const before = cpuMs(lane.pid);
  const ms = await watch(() => lane.start());
  const spent = cpuMs(lane.pid) - before;
  await lane.rest();
  return { perSecond: (events / ms) * 1_000, cpuMs: spent };
}
