/** The same rows, by a key of theirs. */
export function grouped<T>(rows: readonly T[], keyOf: (row: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return groups;
}

/** One handler of one event. */
export function handlingOf({ eventId, handler }: { readonly eventId: string; readonly handler: string }): string {
  return `${eventId} ${handler}`;
}
