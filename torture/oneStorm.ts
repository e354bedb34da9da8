import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RULES } from './checker/check';
import { chosenFaults } from './faults';
import { figuresOf, type Figures } from './report/figures';
import { settingsOf } from './settings';
import { storm, type Outcome } from './storm';
import { World, type Backend, type Say, type WorldOptions } from './world/world';

export const PRODUCERS = 2;

export interface OneStorm extends Pick<WorldOptions, 'rate' | 'workers' | 'keep' | 'weights' | 'preloads'> {
  readonly backend: Backend;
  readonly seed: number;
  readonly faults: readonly string[];
  readonly lastsMs: number;
  readonly patienceMs: number;
  readonly stagnantMs?: number;
  readonly short: boolean;
}

export interface StormResult {
  readonly outcome: Outcome;
  readonly figures: Figures;
  /** What a mutant says that it has changed. */
  readonly mutated: string;
}

/** Storms that run one after the other, each in a world of its own; `close` ends the one that is under way. */
export class Storms {
  private world: World | undefined;
  private closed = false;

  constructor(private readonly say: Say) {}

  async run({ faults: names, lastsMs, patienceMs, stagnantMs, short, ...options }: OneStorm): Promise<StormResult> {
    const { backend, seed } = options;
    const faults = chosenFaults(names, backend);
    const world = new World({ ...options, settings: settingsOf(short), producers: PRODUCERS, say: this.say });
    this.world = world;
    try {
      if (this.closed) throw new Error('it was stopped');
      this.say(`backend ${backend}, seed ${seed}: starting PostgreSQL, NATS and Temporal`);
      await world.open();
      const outcome = await storm(world, { faults, seed, lastsMs, short, patienceMs, stagnantMs });
      if (options.keep) keepHistory(world, outcome);
      const told = join(world.directory, 'mutated');
      const mutated = existsSync(told) ? readFileSync(told, 'utf8') : '';
      return { outcome, figures: figuresOf(outcome, { seed, rules: Object.keys(RULES) }), mutated };
    } finally {
      await world.close();
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.world?.close();
  }
}

/** All that was judged, so that a rule can be held against it again. */
function keepHistory({ directory }: World, { history, strikes, start }: Outcome): void {
  const text = JSON.stringify({ start, strikes, history }, (_, value: unknown) =>
    value instanceof Map ? [...(value as ReadonlyMap<unknown, unknown>)] : value,
  );
  writeFileSync(join(directory, 'history.json'), text);
}
