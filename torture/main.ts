import { Command, InvalidArgumentError } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { interruption } from '../bench/interruption';
import { chosenFaults, FAULTS } from './faults';
import { MUTANTS } from './mutants';
import { catchMutant, lineOf, passUnbroken, type Verdict } from './mutate';
import { PRODUCERS, Storms } from './oneStorm';
import { planOf, textOf } from './plan';
import { Random } from './random';
import type { Figures } from './report/figures';
import { storiesOf } from './report/stories';
import { summaryOf } from './report/summary';
import { tableOf } from './report/table';
import { settingsOf, timingsOf } from './settings';
import type { Backend } from './world/world';

interface Options {
  readonly seed: number;
  readonly seeds: number;
  readonly minutes: number;
  readonly backend: readonly Backend[];
  readonly faults: readonly string[];
  readonly workers: number;
  readonly rate: number;
  readonly mutant?: string;
  readonly plan?: number;
  readonly short?: boolean;
  readonly keep?: boolean;
  readonly json?: boolean;
}

const UNWINDS_WITHIN_MS = 5_000;
/**
 * For what is still open when the storm is over: with the default leases and schedule some of it changes nothing for
 * minutes, and a busy machine takes long for the rest.
 */
const PATIENCE = { patienceMs: 1_800_000, stagnantMs: 600_000 };
const SHORT_PATIENCE = { patienceMs: 480_000, stagnantMs: 90_000 };

const options = new Command('torture')
  .description(
    'A storm of faults on servers, workers and producers of its own, and an independent check of what it has left. Exit code 0: every promise was kept.',
  )
  .option('--seed <number>', 'one seed gives one plan of faults', whole, 1)
  .option('--seeds <number>', 'so many storms for each backend, with this seed and those after it', count, 1)
  .option('--minutes <number>', 'how long faults strike, for each backend', positive, 2)
  .option('--backend <name>', 'db, nats or both', backends, ['db', 'nats'] as Backend[])
  .option('--faults <names>', `comma-separated: ${FAULTS.map(({ name }) => name).join(', ')}, or a noun`, list, [])
  .option('--workers <number>', 'how many', count, 3)
  .option('--rate <number>', 'events a second', positive, 20)
  .option('--short', 'leases, polls and backoff shortened, for storms of a minute or two')
  .option('--plan <steps>', 'prints so many steps of the plan, and does nothing', whole)
  .option(
    '--mutant <name>',
    `a directed storm over a build that is broken on purpose, where exit code 0 means caught: ${Object.keys(MUTANTS).join(', ')}; none: over the build as it is; or all`,
  )
  .option('--keep', 'leaves logs, journals and data where they are, and says where')
  .option('--json', 'the last line on standard output is one JSON object, everything else goes to standard error')
  .parse()
  .opts<Options>();

const begun = performance.now();
const say = (line: string) =>
  console.error(`[${((performance.now() - begun) / 1_000).toFixed(0).padStart(4)} s] ${line}`);

void main();

async function main(): Promise<void> {
  const storms = new Storms(say);
  const interrupted = interruption();
  const running = run(storms);
  // Once interrupted, what is still under way fails one way or another, and nobody asks how.
  running.catch(() => undefined);
  try {
    const { kept, result } = await Promise.race([running, interrupted]);
    if (options.json) console.log(JSON.stringify(result));
    process.exitCode = kept ? 0 : 1;
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  } finally {
    await storms.close();
  }
  await Promise.race([running.catch(() => undefined), sleep(UNWINDS_WITHIN_MS)]);
  process.exit();
}

interface Result {
  /** Every promise was kept, or every broken build was caught. */
  readonly kept: boolean;
  readonly result: unknown;
}

async function run(storms: Storms): Promise<Result> {
  if (options.plan !== undefined) return printPlan(options.plan);
  return options.mutant === undefined ? runStorms(storms) : runMutants(storms, options.mutant);
}

async function runStorms(storms: Storms): Promise<Result> {
  const figures: Figures[] = [];
  const { workers, rate, faults, short = false, keep } = options;
  const timing = { lastsMs: options.minutes * 60_000, ...(short ? SHORT_PATIENCE : PATIENCE) };
  for (let seed = options.seed; seed < options.seed + options.seeds; seed++)
    for (const backend of options.backend) {
      const world = { backend, seed, workers, rate, faults, short, keep };
      const { outcome, figures: found } = await storms.run({ ...world, ...timing });
      if (outcome.violations.length > 0) print(storiesOf(outcome));
      print(`\n${tableOf(found)}\n`);
      figures.push(found);
    }
  if (options.seeds > 1)
    for (const backend of options.backend) print(`${summaryOf(figures.filter((each) => each.backend === backend))}\n`);
  return { kept: figures.every(({ verdict }) => verdict === 'clean'), result: { storms: figures } };
}

async function runMutants(storms: Storms, mutant: string): Promise<Result> {
  const verdicts: Verdict[] = [];
  const tell = (verdict: Verdict) => {
    print(lineOf(verdict));
    verdicts.push(verdict);
  };
  if (mutant === 'none' || mutant === 'all')
    for (const backend of options.backend) tell(await passUnbroken(storms, backend, options.seed, say));
  for (const name of mutant === 'all' ? Object.keys(MUTANTS) : mutant === 'none' ? [] : [mutant])
    tell(await catchMutant(storms, name, options.seed, options.keep));
  return {
    kept: verdicts.every(({ mutant: of, caught }) => caught === (of !== 'none')),
    result: { mutants: verdicts },
  };
}

function printPlan(steps: number): Result {
  const { seed, workers, faults: names, short = false } = options;
  for (const backend of options.backend) {
    print(`backend ${backend}, seed ${seed}`);
    const scene = {
      backend,
      workers,
      producers: PRODUCERS,
      leaseMs: timingsOf(settingsOf(short)).ledgerLeaseMs,
      short,
    };
    const plan = planOf(new Random(seed), chosenFaults(names, backend), scene);
    for (let n = 0; n < steps; n++) print(textOf(plan.next().value));
  }
  return { kept: true, result: {} };
}

function print(text: string): void {
  if (options.json) console.error(text);
  else console.log(text);
}

function list(given: string): string[] {
  return given.split(',').map((name) => name.trim());
}

function backends(given: string): Backend[] {
  if (given === 'both') return ['db', 'nats'];
  if (given !== 'db' && given !== 'nats') throw new InvalidArgumentError('there are db, nats and both.');
  return [given];
}

function positive(given: string): number {
  const number = Number(given);
  if (!(number > 0)) throw new InvalidArgumentError('it must be a number above 0.');
  return number;
}

function count(given: string): number {
  const number = whole(given);
  if (number === 0) throw new InvalidArgumentError('it must be at least 1.');
  return number;
}

function whole(given: string): number {
  const number = Number(given);
  if (!Number.isInteger(number) || number < 0) throw new InvalidArgumentError('it must be a whole number.');
  return number;
}
