import { Fresh } from '../../src/telemetry/fresh';

test('what throws before it answers is no answer, and no error of whoever asked', async () => {
  const fresh = new Fresh<number>(
    () => {
      throw new Error('not connected yet');
    },
    0,
    1_000,
  );
  expect(await fresh.get()).toBeUndefined();
});

test('what rejects, or takes too long, is no answer', async () => {
  expect(await new Fresh(() => Promise.reject(new Error('away')), 0, 1_000).get()).toBeUndefined();
  expect(await new Fresh(() => new Promise(() => undefined), 0, 10).get()).toBeUndefined();
});

test('those who ask at the same moment share one question', async () => {
  let asked = 0;
  const fresh = new Fresh(() => Promise.resolve(++asked), 60_000, 1_000);
  expect(await Promise.all([fresh.get(), fresh.get(), fresh.get()])).toEqual([1, 1, 1]);
  expect(await fresh.get()).toBe(1);
});
