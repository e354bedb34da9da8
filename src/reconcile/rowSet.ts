/** Bits of one part: 8 KiB of memory. */
const PART_BITS = 65_536;
/** A part that holds fewer is a list of them: ids that are far apart must not cost a part each. */
const FEW = 64;

/**
 * A set of row ids, one bit for each: 100 million rows of a sequence take 12.5 MB, where the event ids themselves, as a
 * set of strings, would take 10 GB. It tells which rows the stream holds, and, as adding says whether the id was there,
 * which it holds twice; no sort and no temporary table is needed, and no id below 2^53 is ever mistaken for another.
 */
export class RowSet {
  private readonly parts = new Map<number, number[] | Uint8Array>();

  /** @returns false when it was there already */
  add(id: number): boolean {
    const key = Math.floor(id / PART_BITS);
    const bit = id - key * PART_BITS;
    const part = this.parts.get(key);
    if (part instanceof Uint8Array) return set(part, bit);
    if (!part) this.parts.set(key, [bit]);
    else if (part.includes(bit)) return false;
    else if (part.length < FEW) part.push(bit);
    else this.parts.set(key, bitsOf([...part, bit]));
    return true;
  }

  has(id: number): boolean {
    const key = Math.floor(id / PART_BITS);
    const bit = id - key * PART_BITS;
    const part = this.parts.get(key);
    if (part instanceof Uint8Array) return ((part[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0;
    return part?.includes(bit) ?? false;
  }
}

function bitsOf(few: readonly number[]): Uint8Array {
  const part = new Uint8Array(PART_BITS / 8);
  for (const bit of few) set(part, bit);
  return part;
}

function set(part: Uint8Array, bit: number): boolean {
  const mask = 1 << (bit & 7);
  const byte = part[bit >> 3] ?? 0;
  part[bit >> 3] = byte | mask;
  return (byte & mask) === 0;
}
