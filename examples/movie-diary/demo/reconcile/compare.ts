/** What is compared: ids, each with whatever else must be equal. */
export type Entries = ReadonlyMap<string, string>;

export interface Comparison {
  readonly name: string;
  /** Ids that are on both sides and equal. */
  readonly agree: number;
  readonly missing: readonly string[];
  readonly unexpected: readonly string[];
  readonly different: readonly string[];
}

/** By id: what should be there against what is. */
export function compare(name: string, expected: Entries, found: Entries): Comparison {
  const missing: string[] = [];
  const different: string[] = [];
  let agree = 0;
  for (const [id, value] of expected) {
    const there = found.get(id);
    if (there === undefined) missing.push(id);
    else if (there === value) agree++;
    else different.push(`${id}: ${there} instead of ${value}`);
  }
  const unexpected = [...found.keys()].filter((id) => !expected.has(id));
  return { name, agree, missing, unexpected, different };
}

export function agrees({ missing, unexpected, different }: Comparison): boolean {
  return missing.length + unexpected.length + different.length === 0;
}
