import { Gather } from '../../src/handlers/gather';

/** Flushes that end when they are told to. */
function held() {
  const flushes: { items: readonly number[]; end(): void; fail(error: Error): void }[] = [];
  const flush = (items: readonly number[]) =>
    new Promise<string[]>((resolve, reject) => {
      flushes.push({ items, end: () => resolve(items.map((item) => `r${item}`)), fail: reject });
    });
  return { flushes, flush };
}
const turns = () => new Promise((resolve) => setImmediate(resolve));

describe('gathered requests', () => {
  it('go together when they come in one turn, and each gets its own answer', async () => {
    const { flushes, flush } = held();
    const gather = new Gather(flush);
    const answers = Promise.all([1, 2, 3].map((item) => gather.add(item)));
    await turns();
    expect(flushes.map(({ items }) => items)).toEqual([[1, 2, 3]]);
    flushes[0]!.end();
    expect(await answers).toEqual(['r1', 'r2', 'r3']);
  });

  it('wait together while a statement is under way, and never two statements run at once', async () => {
    const { flushes, flush } = held();
    const gather = new Gather(flush);
    const first = gather.add(1);
    await turns();
    const later = [gather.add(2), gather.add(3)];
    await turns();
    expect(flushes.length).toBe(1);
    flushes[0]!.end();
    expect(await first).toBe('r1');
    await turns();
    expect(flushes[1]!.items).toEqual([2, 3]);
    flushes[1]!.end();
    expect(await Promise.all(later)).toEqual(['r2', 'r3']);
  });

  it('are split where there are more than fit into one statement', async () => {
    const sizes: number[] = [];
    const double = (items: readonly number[]) => {
      sizes.push(items.length);
      return Promise.resolve(items.map((item) => item * 2));
    };
    const gather = new Gather<number, number>(double, undefined, { items: 4, bytes: 1 });
    const answers = await Promise.all(Array.from({ length: 10 }, (_, item) => gather.add(item)));
    expect(sizes).toEqual([4, 4, 2]);
    expect(answers).toEqual(Array.from({ length: 10 }, (_, item) => item * 2));
  });

  it('are split by their size too, and one that is too large by itself is sent by itself', async () => {
    const sent: (readonly string[])[] = [];
    const flush = (items: readonly string[]) => {
      sent.push(items);
      return Promise.resolve(items);
    };
    const gather = new Gather<string, string>(flush, ({ length }) => length, { items: 10, bytes: 6 });
    await Promise.all(['ab', 'abcd', 'a', 'abcdefgh', 'abc', 'abc', 'abc'].map((item) => gather.add(item)));
    expect(sent).toEqual([['ab', 'abcd'], ['a'], ['abcdefgh'], ['abc', 'abc'], ['abc']]);
  });

  it('fail together with their statement, and those after it are sent all the same', async () => {
    const { flushes, flush } = held();
    const gather = new Gather(flush);
    const both = Promise.allSettled([gather.add(1), gather.add(2)]);
    await turns();
    const next = gather.add(3);
    flushes[0]!.fail(new Error('gone'));
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await turns();
    flushes[1]!.end();
    expect(await next).toBe('r3');
  });
});
