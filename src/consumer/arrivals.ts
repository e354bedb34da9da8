/** Collects what arrives in one turn of the event loop, so that it is handed in together: one ledger claim for many. */
export class Arrivals<T> {
  private waiting: T[] = [];

  constructor(private readonly handIn: (items: readonly T[]) => void) {}

  add(item: T): void {
    if (this.waiting.length === 0) setImmediate(() => this.flush());
    this.waiting.push(item);
  }

  private flush(): void {
    const items = this.waiting;
    this.waiting = [];
    this.handIn(items);
  }
}
