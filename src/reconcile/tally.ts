import type { Findings } from './result';

/** Counts all findings of a class and keeps the first of them: a million faults must not need the memory of a million. */
export class Tally<T> implements Findings<T> {
  count = 0;
  readonly shown: T[] = [];

  constructor(private readonly limit: number) {}

  add(finding: T): void {
    this.count++;
    if (this.shown.length < this.limit) this.shown.push(finding);
  }

  addAll({ count, shown }: Findings<T>): void {
    this.count += count;
    this.shown.push(...shown.slice(0, this.limit - this.shown.length));
  }

  get found(): Findings<T> {
    return { count: this.count, shown: this.shown };
  }
}
