import { percentile } from '../numbers';
import { orderPlaced } from '../steady';
import { flow, type Flow } from './flow';
import type { Stage } from './stage';

/**
 * The traffic that is looked at while something fails. One event in nine is timed: some thirty a second, whose
 * notifications slow nobody down.
 */
export const FIXED = { rate: 300, sample: 9 };

const WARM_UP_SECONDS = 4;
const SECONDS = 10;

/** The fixed traffic while nothing fails, in a worker that is warm. */
export async function undisturbed(stage: Stage): Promise<Flow> {
  await forSeconds(WARM_UP_SECONDS);
  return forSeconds(stage.rig.quick ? SECONDS / 2 : SECONDS);

  function forSeconds(seconds: number): Promise<Flow> {
    const events = FIXED.rate * seconds;
    return flow(stage, { ...FIXED, order: (n) => (n < events ? orderPlaced(n) : undefined) });
  }
}

/** A steady flow before and during something that must not slow it down. */
export function slowdown(before: Flow, during: Flow): Record<string, number> {
  const p50 = (of: Flow) => percentile(of.latencies, 0.5);
  const p99 = (of: Flow) => percentile(of.latencies, 0.99);
  return {
    perSecondBefore: before.perSecond,
    perSecondDuring: during.perSecond,
    perSecondRatio: during.perSecond / before.perSecond,
    p50MsBefore: p50(before),
    p50MsDuring: p50(during),
    p50Ratio: p50(during) / p50(before),
    p99MsBefore: p99(before),
    p99MsDuring: p99(during),
    latestStartMs: Math.max(before.latestStartMs, during.latestStartMs),
  };
}
