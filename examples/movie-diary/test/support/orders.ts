/** Every order in which all of these can arrive when `length - items.length` of the deliveries are repeats. */
export function ordersOf<T>(items: readonly T[], length: number): T[][] {
  const words = Array.from({ length }).reduce<T[][]>(
    (shorter) => shorter.flatMap((word) => items.map((item) => [...word, item])),
    [[]],
  );
  return words.filter((word) => items.every((item) => word.includes(item)));
}
