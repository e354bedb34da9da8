/** Who is to handle what, and how it must end. */
interface Expected {
  readonly handlers: readonly string[];
  /** Never succeeds: it must end as a dead letter, and have no effect. */
  readonly doomed?: true;
  /** Its effect brings so many events more. */
  readonly follows?: number;
}

export const EVENTS: Readonly<Record<string, Expected>> = {
  Placed: { handlers: ['book', 'tell'] },
  Flaky: { handlers: ['book', 'tell'] },
  Slow: { handlers: ['tell'] },
  Chained: { handlers: ['book'], follows: 1 },
  Blocking: { handlers: ['hold'] },
  Doomed: { handlers: ['book', 'tell'], doomed: true },
};

/** Handlers whose effect is a row, written in the ledger's transaction. */
export const TRANSACTIONAL: ReadonlySet<string> = new Set(['book', 'hold']);

export function expectedOf(type: string): Expected {
  const expected = EVENTS[type];
  if (!expected) throw new Error(`nobody knows what is to become of an event of type ${type}`);
  return expected;
}
