import { randomUUID } from 'node:crypto';
import { IdSet } from '../../src/reconcile/idSet';
import { RowSet } from '../../src/reconcile/rowSet';

describe('RowSet', () => {
  it.each([
    ['of a sequence', (n: number) => n],
    ['that are far apart', (n: number) => n * 1_000_003],
    ['below zero', (n: number) => -n * 97],
  ])('knows ids %s, and which it was given twice', (_, idOf) => {
    const set = new RowSet();
    const ids = Array.from({ length: 2_000 }, (__, n) => idOf(n + 1));
    expect(ids.filter((id) => set.has(id))).toEqual([]);
    expect(ids.filter((id) => !set.add(id))).toEqual([]);
    expect(ids.filter((id) => set.add(id))).toEqual([]);
    expect(ids.filter((id) => !set.has(id))).toEqual([]);
    expect(set.has(idOf(2_001))).toBe(false);
  });
});

describe('IdSet', () => {
  const counting = (n: number) => `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

  it.each([
    ['random', () => randomUUID()],
    ['counting', counting],
    ['counting in front', (n: number) => `${n.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`],
  ])('knows %s ids, and which it was given twice, also while it grows', (_, idOf) => {
    const set = new IdSet();
    const ids = Array.from({ length: 20_000 }, (__, n) => idOf(n));
    expect(ids.filter((id) => !set.add(id))).toEqual([]);
    expect(ids.filter((id) => set.add(id))).toEqual([]);
  });

  it('knows the id of zeros', () => {
    const set = new IdSet();
    expect([counting(0), '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000'].map((id) => set.add(id))).toEqual([true, true, false]); // prettier-ignore
  });

  it('ends with a sentence when there are too many', () => {
    const set = new IdSet(1_024);
    expect(() => {
      for (let n = 1; n < 1_000; n++) set.add(counting(n));
    }).toThrow(/^The stream holds more than 768 messages of other publishers .*: narrow it with --since\.$/);
  });
});
