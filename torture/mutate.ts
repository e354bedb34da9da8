import { DIRECTED, faultsOf, MUTANTS, preloadOf } from './mutants';
import type { Storms } from './oneStorm';
import { storiesOf } from './report/stories';
import { tableOf } from './report/table';
import type { Backend, Say } from './world/world';

export interface Verdict {
  /** `none`: the build as it is, where nothing may be found. */
  readonly mutant: string;
  readonly backend: Backend;
  readonly caught: boolean;
  readonly storms: number;
  /** How many violations of each rule. */
  readonly rules: Readonly<Record<string, number>>;
}

/** A storm may pass by what a mutant breaks: killed a moment earlier, a worker had nothing in its hands. */
const TRIES = 4;
/** What a mutant has lost does not come back: longer than any lease, poll and backoff of a short storm. */
const STAGNANT_MS = 20_000;
const UNBROKEN_STAGNANT_MS = 90_000;
const PATIENCE_MS = 300_000;

/** Throws a broken build into its directed storm until the checker catches it. */
export async function catchMutant(storms: Storms, name: string, seed: number, keep = false): Promise<Verdict> {
  const mutant = MUTANTS[name];
  if (!mutant) throw new Error(`there is no mutant "${name}"; there are ${Object.keys(MUTANTS).join(', ')}`);
  const { backend, fault, rules: shownBy, workers = DIRECTED.workers } = mutant;
  for (let count = 1; ; count++) {
    const { figures, mutated } = await storms.run({
      ...DIRECTED,
      ...{ backend, keep, workers, seed: seed + count - 1 },
      faults: [fault],
      preloads: [preloadOf(name)],
      patienceMs: PATIENCE_MS,
      stagnantMs: STAGNANT_MS,
    });
    if (mutated === '') throw new Error(`the mutant ${name} has found nothing to change: it proves nothing`);
    const { rules } = figures;
    const caught = shownBy.some((rule) => (rules[rule] ?? 0) > 0);
    if (caught || count === TRIES) return { mutant: name, backend, caught, storms: count, rules };
  }
}

/** The same storms, in one, over the build as it is, where nothing may be found. */
export async function passUnbroken(storms: Storms, backend: Backend, seed: number, say: Say): Promise<Verdict> {
  const faults = faultsOf(backend);
  const lastsMs = faults.length * DIRECTED.lastsMs;
  const { figures, outcome } = await storms.run({
    ...DIRECTED,
    ...{ backend, seed, faults, lastsMs },
    patienceMs: PATIENCE_MS,
    stagnantMs: UNBROKEN_STAGNANT_MS,
  });
  if (figures.verdict === 'unproven')
    throw new Error(`the storm over the build as it is proves nothing:\n${tableOf(figures)}`);
  const caught = figures.violations > 0;
  if (caught) say(storiesOf(outcome));
  return { mutant: 'none', backend, caught, storms: 1, rules: figures.rules };
}

export function lineOf({ mutant, backend, caught, storms, rules }: Verdict): string {
  const found = Object.entries(rules).filter(([, count]) => count > 0);
  const by = found.map(([rule, count]) => `${rule} ${count}`).join(', ');
  return `${mutant.padEnd(26)} ${backend.padEnd(5)} ${caught ? `caught (${by})` : 'clean'}, storms: ${storms}`;
}
