import type { History } from '../../torture/checker/history';
import { waitsOf } from '../../torture/checker/waits';
import { deaths, entry, good, goodHistory, instead, ofPlaced, outage, PLACED, told } from './histories';

describe('a history is told of in which', () => {
  it.each<[string, Partial<History>, RegExp]>([
    [
      'a retry came too early',
      {
        handlers: [
          ...good.handlers,
          ...entry(PLACED, 'tell', 1, 101, 500, 550, 'failed'),
          ...entry(PLACED, 'tell', 2, 101, 700, 710, 'end'),
        ],
      },
      /^schedule: tell: attempt 2 came 150 ms after a failure, not 500/,
    ],
    [
      'what a killed worker had begun was entered before its lease could be over',
      {
        ...instead('tell', entry(PLACED, 'tell', 1, 103, 500), entry(PLACED, 'tell', 2, 101, 2_000, 2_010, 'end')),
        deaths: deaths([103, 600]),
      },
      /^schedule: tell: attempt 2 came 1400 ms after one that died, not 2250/,
    ],
    [
      'a retry came too early while PostgreSQL was away from another worker',
      {
        ...ofPlaced(
          'tell',
          entry(PLACED, 'tell', 1, 101, 500, 550, 'failed'),
          entry(PLACED, 'tell', 2, 101, 2_000, 2_010, 'end'),
        ),
        outages: [outage('network', 400, 1_900, 'worker-2')],
      },
      /^schedule: tell: attempt 2 came 1450 ms after a failure, not 8000/,
    ],
    [
      'a retry came too early, and PostgreSQL had been away long before',
      {
        ...ofPlaced(
          'tell',
          entry(PLACED, 'tell', 1, 101, 20_500, 20_550, 'failed'),
          entry(PLACED, 'tell', 2, 101, 22_000, 22_010, 'end'),
        ),
        outages: [outage('freeze', 400, 1_900)],
      },
      /^schedule: tell: attempt 2 came 1450 ms after a failure, not 8000/,
    ],
    [
      'a retry came sooner than a renewal and an outage of its worker explain',
      {
        ...ofPlaced(
          'tell',
          entry(PLACED, 'tell', 1, 101, 500, 550, 'failed'),
          entry(PLACED, 'tell', 2, 101, 3_000, 3_010, 'end'),
        ),
        outages: [outage('network', 400, 1_900, 'worker-1')],
      },
      /^schedule: tell: attempt 2 came 2450 ms after a failure, not 5100/,
    ],
  ])('%s', (_, over, expected) => {
    expect(told(over).filter((text) => expected.test(text))).not.toEqual([]);
  });
});

describe('no fault is found when', () => {
  it.each<[string, Partial<History>]>([
    // As in `npm run torture -- --seed 205 --minutes 30 --backend db --rate 6`.
    [
      'the attempt after that of a process that stood still began, and failed, before the first went on to fail',
      {
        handlers: [
          ...entry(PLACED, 'tell', 1, 103, 500, 9_000, 'failed'),
          ...entry(PLACED, 'tell', 2, 102, 7_000, 7_100, 'failed'),
          ...good.handlers.map((line) =>
            line.eventId === PLACED && line.handler === 'tell' ? { ...line, attempt: 3, at: line.at + 9_000 } : line,
          ),
        ],
        standstills: [{ pid: 103, from: 499, to: 8_900 }],
        rules: { ...good.rules, maxAttempts: 3 },
        deliveries: good.deliveries.map((row) => ({ ...row, attempts: 3 })),
      },
    ],
    [
      'a worker died in a handler, and another took it over',
      {
        ...ofPlaced('tell', entry(PLACED, 'tell', 1, 103, 500), entry(PLACED, 'tell', 2, 101, 6_000, 6_010, 'end')),
        deaths: deaths([103, 600]),
      },
    ],
    [
      'a worker that could not write a failure down was taken for lost, by its last renewal',
      {
        ...ofPlaced(
          'tell',
          entry(PLACED, 'tell', 1, 101, 500, 550, 'failed'),
          entry(PLACED, 'tell', 2, 101, 5_700, 5_710, 'end'),
        ),
        outages: [outage('writes', 400, 1_900)],
      },
    ],
  ])('%s', (_, over) => {
    expect(told(over)).toEqual([]);
  });
});

it('counts which waits it has judged, and which by the whole backoff', () => {
  const judged = (over: Partial<History>) => waitsOf(goodHistory(over)).map(({ leastMs, whole }) => [leastMs, whole]);
  expect(judged({})).toEqual([
    [500, true],
    [500, true],
  ]);
  expect(judged({ outages: [outage('freeze', 1_000, 1_150)] })).toEqual([
    [0, false],
    [0, false],
  ]);
});
