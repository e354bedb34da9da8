import { RULES } from '../../torture/checker/check';
import type { History } from '../../torture/checker/history';
import type { Strike } from '../../torture/diary';
import { figuresOf } from '../../torture/report/figures';
import { spreadOf } from '../../torture/report/recovery';
import { tableOf } from '../../torture/report/table';
import type { Outcome } from '../../torture/storm';
import { entry, goodHistory } from './histories';

const strike = (name: string, from: number, failed?: string): Strike => ({
  ...{ name, what: name, from, to: from + 100 },
  ...(failed !== undefined && { failed }),
});

const outcome = { start: 900, calm: 5_000, rested: true, ownEnds: 0, violations: [], history: goodHistory() };
const rules = Object.keys(RULES);

function figures(...strikes: Strike[]) {
  return figuresOf({ ...outcome, strikes }, { seed: 1, rules });
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

it.each<[string, Partial<Outcome>]>([
  ['no fault struck', { strikes: [] }],
  ['nothing was written', { history: goodHistory({ business: [] }) }],
  ['nothing was handled', { history: goodHistory({ handlers: [] }) }],
  ['patience was over before all was handled', { rested: false }],
])('a storm in which %s proves nothing', (_, over) => {
  const struck = { ...outcome, strikes: [strike('worker-kill', 1_000)] };
  expect(figuresOf(struck, { seed: 1, rules }).verdict).toBe('clean');
  expect(figuresOf({ ...struck, ...over }, { seed: 1, rules }).verdict).toBe('unproven');
});

/** An event that was written at a time, and entered and handled later. */
function withEvent(id: string, written: number, entered: number): Partial<History> {
  return {
    business: [{ eventId: id, type: 'Slow', producer: 'producer-1', cause: null }],
    producers: [{ kind: 'acknowledged', ids: [id], at: written }],
    handlers: entry(id, 'tell', 1, 101, entered, entered + 20, 'end'),
  };
}

describe('recovery', () => {
  const first = withEvent('first', 1_000, 1_200);
  const second = withEvent('second', 1_150, 1_950);
  const recovery = (...events: Partial<History>[]) => {
    const all = <K extends 'business' | 'producers' | 'handlers'>(of: K) =>
      events.flatMap((each): unknown[] => [...(each[of] ?? [])]) as unknown as History[K];
    const history = goodHistory({ business: all('business'), producers: all('producers'), handlers: all('handlers') });
    return figuresOf({ ...outcome, history, strikes: [strike('worker-kill', 1_000)] }, { seed: 1, rules }).recovery;
  };

  it('of the flow is counted by what was written after the fault: what was under way says nothing of the relay', () => {
    expect(recovery(first, second)).toEqual([{ fault: 'worker-kill', times: 1, flowMs: [850], caughtUpMs: [120] }]);
  });

  it('has nothing to catch up with where nothing was open', () => {
    expect(recovery(second)).toEqual([{ fault: 'worker-kill', times: 1, flowMs: [850], caughtUpMs: [] }]);
  });
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
