/** Bits of one part: 8 KiB of memory. Ids that are far apart, as a sequence with gaps leaves them, cost a part each. */
const PART_BITS = 65_536;

/**
 * A set of row ids, one bit for each: 100 million rows of a sequence take 12.5 MB, where the event ids themselves, as a
 * set of strings, would take 10 GB. It tells which rows the stream holds, and, as adding says whether the id was there,
 * which it holds twice; no sort and no temporary table is needed, and nothing is ever mistaken for another.
 */
export class RowSet {
  private readonly parts = new Map<number, Uint8Array>();

  /** @returns false when it was there already */
  add(id: number): boolean {
    const key = Math.floor(id / PART_BITS);
    let part = this.parts.get(key);
    if (!part) {
      part = new Uint8Array(PART_BITS / 8);
      this.parts.set(key, part);
    }
    const bit = id - key * PART_BITS;
    const mask = 1 << (bit & 7);
    const byte = part[bit >> 3] ?? 0;
    part[bit >> 3] = byte | mask;
    return (byte & mask) === 0;
  }

  has(id: number): boolean {
    const key = Math.floor(id / PART_BITS);
    const bit = id - key * PART_BITS;
    return ((this.parts.get(key)?.[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0;
  }
}
