/**
 * First in, first out, but never two items of one key out at the same time unless they were taken together: so events of
 * one aggregate are handled in their order, while those of others overtake them.
 */
export class AggregateQueue<Item> {
  private readonly chains = new Map<string, Item[]>();
  private readonly out = new Set<string>();
  /** Keys with something to take, the longest waiting first. */
  private readonly eligible = new Set<string>();
  private waiting = 0;

  get size(): number {
    return this.waiting;
  }

  push(key: string, item: Item): void {
    const chain = this.chains.get(key);
    if (chain) chain.push(item);
    else this.chains.set(key, [item]);
    this.waiting++;
    if (!this.out.has(key)) this.eligible.add(key);
  }

  /** @param perKey items of one key at most; they are taken in their order */
  take(atMost: number, perKey: number): { key: string; items: Item[] }[] {
    const taken: { key: string; items: Item[] }[] = [];
    let left = atMost;
    for (const key of this.eligible) {
      if (left <= 0) break;
      const chain = this.chains.get(key) ?? [];
      const items = chain.splice(0, Math.min(perKey, left));
      if (chain.length === 0) this.chains.delete(key);
      left -= items.length;
      this.waiting -= items.length;
      this.eligible.delete(key);
      this.out.add(key);
      taken.push({ key, items });
    }
    return taken;
  }

  /** What was taken of this key is through. */
  free(key: string): void {
    this.out.delete(key);
    if (this.chains.has(key)) this.eligible.add(key);
  }

  /** Takes everything that waits, for good. */
  empty(): Item[] {
    const all = [...this.chains.values()].flat();
    this.chains.clear();
    this.eligible.clear();
    this.waiting = 0;
    return all;
  }
}
