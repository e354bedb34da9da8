import { setTimeout as sleep } from 'node:timers/promises';
import { seeded } from '../../demo/seeded';

export interface Target {
  readonly name: string;
  /** By SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
  /** Resolves when it is ready. */
  start(): Promise<void>;
}

/** Between two kills, and from a kill to the new start, at least and at most. */
const PAUSE_MS = [500, 3_000] as const;
const AWAY_MS = [0, 2_500] as const;

/** Kills targets at random times, and starts each anew a little later. The same seed picks the same ones in the same order. */
export class Killer {
  readonly kills: Map<string, number>;
  private readonly random: () => number;
  /** Each of them once, before chance has its way: on a slow machine there is time for few. */
  private readonly first: Target[];

  constructor(
    private readonly targets: readonly Target[],
    private readonly seed: number,
  ) {
    this.kills = new Map(targets.map(({ name }) => [name, 0]));
    this.random = seeded(seed);
    this.first = targets
      .map((target) => ({ target, order: this.random() }))
      .sort((a, b) => a.order - b.order)
      .map(({ target }) => target);
  }

  /** One after the other and now and then two at once. Resolves when the time is over and all of them run. */
  async killFor(ms: number): Promise<void> {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      await sleep(this.between(PAUSE_MS));
      const victims = [this.pick(), ...(this.random() < 0.3 ? [this.pick()] : [])];
      await Promise.all([...new Set(victims)].map((victim) => this.kill(victim, this.between(AWAY_MS))));
    }
  }

  summary(): string {
    return `seed ${this.seed}, kills: ${[...this.kills].map(([name, kills]) => `${name} ${kills}`).join(', ')}`;
  }

  private async kill(target: Target, awayMs: number): Promise<void> {
    await target.kill();
    this.kills.set(target.name, (this.kills.get(target.name) ?? 0) + 1);
    await sleep(awayMs);
    await target.start();
  }

  private pick(): Target {
    return this.first.shift() ?? (this.targets[Math.floor(this.random() * this.targets.length)] as Target);
  }

  private between([least, most]: readonly [number, number]): number {
    return least + this.random() * (most - least);
  }
}
