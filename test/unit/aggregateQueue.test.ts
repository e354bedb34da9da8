import fc from 'fast-check';
import { AggregateQueue } from '../../src/handlers/aggregateQueue';

describe('the queue of a lane', () => {
  it('hands out no item of a key while others of it are out, and those of other keys overtake them', () => {
    const queue = new AggregateQueue<string>();
    for (const item of ['a1', 'a2', 'b1']) queue.push(item[0]!, item);
    expect(queue.take(10, 1)).toEqual([
      { key: 'a', items: ['a1'] },
      { key: 'b', items: ['b1'] },
    ]);
    queue.push('a', 'a3');
    expect(queue.take(10, 5)).toEqual([]);
    queue.free('a');
    expect(queue.take(10, 5)).toEqual([{ key: 'a', items: ['a2', 'a3'] }]);
    expect(queue.size).toBe(0);
  });

  it('lets the key that waited longest go first, so that a busy one starves nobody', () => {
    const queue = new AggregateQueue<string>();
    for (const item of ['a1', 'a2', 'b1', 'c1']) queue.push(item[0]!, item);
    expect(queue.take(1, 1)).toEqual([{ key: 'a', items: ['a1'] }]);
    queue.free('a');
    expect(queue.take(3, 1).map(({ key }) => key)).toEqual(['b', 'c', 'a']);
  });

  it('takes neither more than asked for nor more of one key than allowed', () => {
    const queue = new AggregateQueue<number>();
    for (let n = 0; n < 10; n++) queue.push(`k${n % 2}`, n);
    expect(queue.take(5, 3)).toEqual([
      { key: 'k0', items: [0, 2, 4] },
      { key: 'k1', items: [1, 3] },
    ]);
    expect(queue.take(0, 3)).toEqual([]);
    expect(queue.size).toBe(5);
  });

  it('gives everything that waits once when it is emptied, and takes new items afterwards', () => {
    const queue = new AggregateQueue<number>();
    for (const n of [1, 2, 3]) queue.push('a', n);
    queue.take(1, 1);
    expect(queue.empty()).toEqual([2, 3]);
    expect([queue.size, queue.empty()]).toEqual([0, []]);
    queue.free('a');
    queue.push('a', 4);
    expect(queue.take(1, 1)).toEqual([{ key: 'a', items: [4] }]);
  });

  it('keeps the order of each key and loses nothing, whatever is pushed, taken and freed in whatever order', () => {
    const step = fc.oneof(
      fc.record({ push: fc.integer({ min: 0, max: 4 }) }),
      fc.record({ take: fc.integer({ min: 0, max: 5 }), perKey: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ free: fc.nat() }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new AggregateQueue<{ key: string; n: number }>();
        const out = new Set<string>();
        const seen = new Map<string, number[]>();
        let pushed = 0;
        const take = (atMost: number, perKey: number) => {
          for (const { key, items } of queue.take(atMost, perKey)) {
            expect(out.has(key)).toBe(false);
            expect(items.length).toBeGreaterThan(0);
            out.add(key);
            seen.set(key, [...(seen.get(key) ?? []), ...items.map(({ n }) => n)]);
          }
        };
        for (const each of steps) {
          if ('push' in each) queue.push(`k${each.push}`, { key: `k${each.push}`, n: pushed++ });
          else if ('take' in each) take(each.take, each.perKey);
          else {
            const key = [...out][each.free % Math.max(1, out.size)];
            if (key !== undefined && out.delete(key)) queue.free(key);
          }
        }
        while (queue.size > 0 || out.size > 0) {
          for (const key of [...out]) if (out.delete(key)) queue.free(key);
          take(100, 100);
        }
        const all = [...seen.values()];
        for (const numbers of all) expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
        expect(all.flat().length).toBe(pushed);
      }),
    );
  });
});
