import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Everything that a storm chooses comes from here, so that one seed gives one plan. */
export class Random {
  private readonly generator;

  constructor(seed: number) {
    this.generator = xoroshiro128plus(seed);
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return uniformInt(this.generator, least, most);
  }

  /** True in so many of 100 cases. */
  chance(percent: number): boolean {
    return this.between(1, 100) <= percent;
  }

  pick<T>(from: readonly T[]): T {
    const found = from[this.between(0, from.length - 1)];
    if (found === undefined) throw new Error('there is nothing to choose from');
    return found;
  }

  shuffled<T>(given: readonly T[]): T[] {
    const left = [...given];
    const mixed: T[] = [];
    while (left.length > 0) mixed.push(...left.splice(this.between(0, left.length - 1), 1));
    return mixed;
  }

  /** One that goes its own way: what it draws does not change what is drawn here. */
  fork(): Random {
    return new Random(this.between(0, 0x7fffffff));
  }
}
