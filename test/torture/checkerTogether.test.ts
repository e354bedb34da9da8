import type { History } from '../../torture/checker/history';
import { because, deaths, entry, good, instead, ofPlaced, outage, PLACED, told } from './histories';

describe('a history is told of in which', () => {
  it.each<[string, Partial<History>, RegExp]>([
    [
      'a handler ran in two processes at once',
      { handlers: [...entry(PLACED, 'tell', 1, 103, 1_110, 1_130, 'end'), ...good.handlers] },
      /^together: tell was entered in process 103 while it ran in 101/,
    ],
    [
      'a handler was entered again before its process died',
      {
        handlers: [...entry(PLACED, 'tell', 1, 103, 1_000), ...good.handlers],
        deaths: deaths([103, 1_105]),
      },
      /^together: tell was entered in process 101 while it ran in 103/,
    ],
    [
      'a handler was entered beside two others, of which only the first had stood still',
      {
        ...instead(
          'tell',
          entry(PLACED, 'tell', 1, 103, 500, 9_000, 'failed'),
          entry(PLACED, 'tell', 2, 102, 7_000, 7_500, 'failed'),
          entry(PLACED, 'tell', 3, 101, 7_400, 7_600, 'end'),
        ),
        standstills: [{ pid: 103, from: 510, to: 8_900 }],
      },
      /^together: tell was entered in process 101 while it ran in 102/,
    ],
    ...(['freeze', 'restart', 'network', 'writes'] as const).map((kind): [string, Partial<History>, RegExp] => [
      `a transactional handler ran twice at a time, and PostgreSQL was away, but had not crashed (${kind})`,
      {
        ...instead(
          'book',
          entry(PLACED, 'book', 1, 103, 1_050, 1_200, 'failed'),
          entry(PLACED, 'book', 1, 101, 1_150, 1_180, 'end'),
        ),
        outages: [outage(kind, 1_000, 1_140)],
      },
      /^together: book was entered in process 101 while it ran in 103/,
    ]),
  ])('%s', (_, over, expected) => {
    expect(told(over).filter((text) => expected.test(text))).not.toEqual([]);
  });
});

describe('no fault is found when', () => {
  it.each<[string, Partial<History>]>([
    [
      'a handler runs beside a process that stood still for longer than its lease',
      {
        ...instead(
          'tell',
          entry(PLACED, 'tell', 1, 103, 500, 9_000, 'failed'),
          entry(PLACED, 'tell', 2, 101, 7_000, 7_100, 'end'),
        ),
        standstills: [{ pid: 103, from: 510, to: 8_900 }],
      },
    ],
    [
      'a transactional handler ran twice at a time, and PostgreSQL had crashed with its claim',
      {
        ...instead(
          'book',
          because('connection lost', entry(PLACED, 'book', 1, 103, 1_050, 1_200, 'failed')),
          entry(PLACED, 'book', 1, 101, 1_150, 1_180, 'end'),
        ),
        outages: [outage('crash', 1_000, 1_140)],
      },
    ],
    [
      'a process that stood still beyond its lease entered the handler late, beside its successor',
      {
        ...ofPlaced(
          'tell',
          entry(PLACED, 'tell', 2, 102, 9_000, 9_200, 'end'),
          entry(PLACED, 'tell', 1, 103, 9_100, 9_300, 'end'),
        ),
        standstills: [{ pid: 103, from: 500, to: 9_090 }],
      },
    ],
  ])('%s', (_, over) => {
    expect(told(over)).toEqual([]);
  });
});
