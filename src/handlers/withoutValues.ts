/** What a validator writes may be as long as the value that it quotes. */
const MAX_MESSAGE = 2_000;
/** Of a longer value the beginning is looked for, as the message may quote only that. */
const MAX_NEEDLE = 48;
/** A payload of a million values is searched so far: this is for the reader's privacy, and must not hold up the worker. */
const MAX_LEAVES = 1_000;
const MASK = '***';

/**
 * A validator's message without the values of the payload: reasons are stored, logged and shown, values may be
 * anyone's. arktype ends in `(was …)`, valibot in `received …`; a message of the user's own may quote any value.
 * Rather masks a word too many: the path says where to look.
 */
export function withoutValues(message: string, payload: unknown): string {
  let text = message
    .slice(0, MAX_MESSAGE)
    .replace(/\s*\(was .*$/s, '')
    .replace(/\b(received|got)(:?)\s+(?:["'`{[]|[-+]?\d).*$/is, `$1$2 ${MASK}`);
  // Longest first: a value that is part of another must not leave the rest of that one standing.
  for (const leaf of [...leavesOf(payload)].sort((a, b) => b.length - a.length)) {
    const needle = leaf.slice(0, MAX_NEEDLE);
    if (!text.includes(needle)) continue;
    const escaped = needle.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
    if (leaf.length > MAX_NEEDLE) text = text.replace(new RegExp(`${escaped}.*$`, 'su'), MASK);
    else text = text.replace(new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, 'gu'), MASK);
  }
  return text;
}

/** Texts and numbers of the payload, as a message would show them. */
function leavesOf(payload: unknown): Set<string> {
  const leaves = new Set<string>();
  const open: unknown[] = [payload];
  while (open.length > 0 && leaves.size < MAX_LEAVES) {
    const value = open.pop();
    if (typeof value === 'string') {
      // As it is, and as inside of quotes.
      for (const shown of [value, JSON.stringify(value).slice(1, -1)]) if (shown.trim() !== '') leaves.add(shown);
    } else if (typeof value === 'number' || typeof value === 'bigint') leaves.add(String(value));
    else if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value).slice(0, MAX_LEAVES)) open.push(inner);
    }
  }
  return leaves;
}
