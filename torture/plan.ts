import { nounOf } from './faults';
import type { Aim, Fault, Scene } from './faults/fault';
import type { Random } from './random';

/** What strikes at one moment, after a pause. */
export interface Step {
  readonly afterMs: number;
  /** The pause begins when all workers are up again; else a fault may meet what the last one has left. */
  readonly settled: boolean;
  /** One, or two that do not concern the same thing, and of which neither keeps the other from striking. */
  readonly aims: readonly (Aim & { readonly name: string })[];
}

/** Time enough for the flow to be back, mostly, so that each fault's recovery can be told from the next one's. */
const CALM_MS = { short: { least: 500, most: 3_000 }, long: { least: 3_000, most: 20_000 } };
/** Of 100 steps so many bring a second fault with the first. */
const PAIRS = 20;
const SETTLED = 75;

/** Without end, and the same for the same seed: every fault once in random order, then again in another. */
export function* planOf(random: Random, faults: readonly Fault[], scene: Scene): Generator<Step, never> {
  if (faults.length === 0) throw new Error('a storm needs a fault');
  const { least, most } = scene.short ? CALM_MS.short : CALM_MS.long;
  for (;;) {
    for (const fault of random.shuffled(faults)) {
      const others = faults.filter((other) => nounOf(other) !== nounOf(fault));
      const second = others.length > 0 && random.chance(PAIRS) ? [random.pick(others)] : [];
      const afterMs = random.between(least, most);
      const settled = random.chance(SETTLED);
      // All draws before the choice: a pair that cannot be changes nothing of what comes after it.
      const drawn = [fault, ...second].map((each) => ({ fault: each, random: random.fork() }));
      const aimed = drawn.filter((each) => each.fault === fault || !areRivals(each.fault, fault));
      yield {
        ...{ afterMs, settled },
        aims: aimed.map((each) => ({ name: each.fault.name, ...each.fault.aim(each.random, scene) })),
      };
    }
  }
}

function areRivals(one: Fault, other: Fault): boolean {
  return one.needs?.includes(nounOf(other)) === true || other.needs?.includes(nounOf(one)) === true;
}

/** For people. */
export function textOf({ afterMs, settled, aims }: Step): string {
  return `${settled ? 'settled, ' : ''}after ${(afterMs / 1_000).toFixed(1)} s: ${aims.map(({ what }) => what).join(', and ')}`;
}
