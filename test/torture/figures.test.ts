import { RULES } from '../../torture/checker/check';
import type { Strike } from '../../torture/diary';
import { figuresOf } from '../../torture/report/figures';
import { spreadOf } from '../../torture/report/recovery';
import { tableOf } from '../../torture/report/table';
import { goodHistory } from './histories';

const strike = (name: string, from: number, failed?: string): Strike => ({
  ...{ name, what: name, from, to: from + 100 },
  ...(failed !== undefined && { failed }),
});

function figures(...strikes: Strike[]) {
  const outcome = { start: 900, calm: 5_000, rested: true, ownEnds: 0, violations: [], history: goodHistory() };
  return figuresOf({ ...outcome, strikes }, { seed: 1, rules: Object.keys(RULES) });
}

it('a fault that failed is none, and is told with its reason', () => {
  const found = figures(strike('worker-kill', 1_000), strike('stream-full', 2_000, 'timeout\n  at …'));
  expect(found.faults).toEqual({ 'worker-kill': 1 });
  expect(found.failed).toEqual([{ fault: 'stream-full', why: 'timeout', times: 1 }]);
  expect(found.recovery.map(({ fault }) => fault)).toEqual(['worker-kill']);
  expect(found.verdict).toBe('clean');
  expect(tableOf(found)).toMatch(/faults that failed +1: stream-full 1 \(timeout\)/);
});

it('a storm in which most faults failed proves nothing', () => {
  const failed = [2_000, 3_000].map((from) => strike('stream-full', from, 'timeout'));
  const found = figures(strike('worker-kill', 1_000), ...failed);
  expect(found.verdict).toBe('unproven');
  expect(found.failed).toEqual([{ fault: 'stream-full', why: 'timeout', times: 2 }]);
});

it('says how many waits were judged', () => {
  expect(figures().waits).toEqual({ of: 2, judged: 2, whole: 2 });
  expect(tableOf(figures())).toMatch(/waits judged +2 of 2, 2 of them by the whole backoff/);
});

it('the median of an even number of values is between the two in the middle', () => {
  expect(spreadOf([4, 1, 2, 9])).toEqual({ median: 3, worst: 9 });
  expect(spreadOf([4, 1, 2])).toEqual({ median: 2, worst: 4 });
  expect(spreadOf([])).toEqual({ median: null, worst: null });
});
