/** The bytes are far below the 256 MiB that a jsonb of PostgreSQL may have: a statement over that would fail at each try. */
const LIMITS = { items: 500, bytes: 8 * 1024 * 1024 };

/**
 * Turns many single requests into few statements: what arrives while one is under way goes with the next. Nothing waits
 * for a timer, so a lone request costs no delay.
 */
export class Gather<Item, Result> {
  private waiting: { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }[] = [];
  private flushing = false;

  /**
   * @param flush answers the items in their order; when it throws, each of them fails
   * @param bytesOf of one item, where items differ: what goes together is within the limits, or a single item
   */
  constructor(
    private readonly flush: (items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly bytesOf: (item: Item) => number = () => 0,
    private readonly limits: { readonly items: number; readonly bytes: number } = LIMITS,
  ) {}

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (!this.flushing) void this.run();
    });
  }

  private async run(): Promise<void> {
    this.flushing = true;
    // What is added in the same turn goes together.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, this.fitting());
      try {
        const results = await this.flush(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => resolve(results[index] as Result));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.flushing = false;
  }

  private fitting(): number {
    let bytes = 0;
    const over = this.waiting.findIndex(({ item }) => (bytes += this.bytesOf(item)) > this.limits.bytes);
    return Math.min(this.limits.items, over < 0 ? this.waiting.length : Math.max(1, over));
  }
}
