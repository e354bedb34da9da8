import type { History } from '../../torture/checker/history';
import {
  because,
  command,
  deaths,
  DOOMED,
  entry,
  good,
  instead,
  key,
  ofPlaced,
  outage,
  PLACED,
  told,
} from './histories';

describe('a history is told of in which', () => {
  it.each<[string, Partial<History>, RegExp]>([
    [
      'there was an attempt too many',
      { handlers: [...good.handlers, ...entry(DOOMED, 'tell', 3, 101, 9_000, 9_001, 'failed')] },
      /^schedule: tell: attempt 3 of 2/,
    ],
    [
      'a handler began again without an attempt, and nobody had handed its event back',
      instead(
        'tell',
        entry(PLACED, 'tell', 1, 101, 500, 550, 'failed'),
        entry(PLACED, 'tell', 1, 102, 9_000, 9_010, 'end'),
      ),
      /^schedule: tell: attempt 1 came again after attempt 1/,
    ],
    [
      'a budget began anew, and an operator had handed back only others',
      {
        ...ofPlaced(
          'tell',
          entry(PLACED, 'tell', 2, 101, 500, 550, 'failed'),
          entry(PLACED, 'tell', 1, 102, 99_000, 99_010, 'end'),
        ),
        operators: [command('reemit', 50_000, 51_000, { dead: [] })],
      },
      /^schedule: tell: attempt 1 came again after attempt 2/,
    ],
    [
      'an operator handed a dead letter back only after its budget had begun anew',
      {
        handlers: [...good.handlers, ...entry(DOOMED, 'tell', 1, 101, 2_110, 2_120, 'failed')],
        operators: [command('reemit', 2_200, 2_300, { dead: [] })],
      },
      /^schedule: tell: attempt 1 came again after attempt 2/,
    ],
    [
      'a transactional handler that failed by itself began again without an attempt, in the same process',
      ofPlaced(
        'book',
        entry(PLACED, 'book', 1, 101, 500, 550, 'failed'),
        entry(PLACED, 'book', 1, 101, 600, 610, 'end'),
      ),
      /^schedule: book: attempt 1 came again after attempt 1/,
    ],
    [
      'an attempt was left out, and no worker was lost',
      ofPlaced(
        'tell',
        entry(PLACED, 'tell', 1, 101, 500, 550, 'failed'),
        entry(PLACED, 'tell', 3, 102, 99_000, 99_010, 'end'),
      ),
      /^schedule: tell: attempt 3 came after attempt 1, and no worker was lost/,
    ],
    [
      'the first attempt was left out, and a worker was lost only before the event was there',
      {
        ...ofPlaced('tell', entry(PLACED, 'tell', 2, 102, 99_000, 99_010, 'end')),
        producers: [{ kind: 'acknowledged', ids: [PLACED], at: 50_000 }],
        deaths: deaths([103, 20_000]),
      },
      /^schedule: tell: attempt 2 came after attempt 0, and no worker was lost/,
    ],
  ])('%s', (_, over, expected) => {
    expect(told(over).filter((text) => expected.test(text))).not.toEqual([]);
  });
});

describe('no fault is found when', () => {
  it.each<[string, Partial<History>]>([
    [
      'an operator handed a dead letter back with a fresh budget',
      {
        handlers: [...good.handlers, ...entry(DOOMED, 'tell', 1, 101, 2_110, 2_120, 'failed')],
        operators: [command('reemit', 1_900, 2_100, { dead: [key(DOOMED, 'tell')] })],
      },
    ],
    [
      'an attempt was cut short by the end of its worker, and begins again at once',
      {
        handlers: [
          ...because('HandlerAbortedError: the worker stops', entry(PLACED, 'tell', 1, 103, 500, 600, 'failed'), true),
          ...good.handlers,
        ],
      },
    ],
    [
      'a transaction was run again for the sake of another event in it',
      ofPlaced('book', entry(PLACED, 'book', 1, 101, 500, 550, 'end'), entry(PLACED, 'book', 1, 101, 600, 610, 'end')),
    ],
    [
      'a transaction lost its connection after its handler had failed, and was run again',
      {
        ...ofPlaced(
          'book',
          entry(PLACED, 'book', 3, 101, 500, 550, 'failed'),
          entry(PLACED, 'book', 3, 101, 1_900, 1_910, 'end'),
        ),
        outages: [outage('network', 540, 1_000, 'worker-1')],
        deaths: deaths([102, 100]),
      },
    ],
    [
      'a worker that was told to stop ended before its handler did, and gave the event back',
      {
        ...ofPlaced('book', entry(PLACED, 'book', 1, 103, 500), entry(PLACED, 'book', 1, 101, 900, 910, 'end')),
        deaths: deaths([103, 850, false]),
      },
    ],
    [
      'attempts were spent by workers that were lost before they entered the handler',
      {
        ...ofPlaced('tell', entry(PLACED, 'tell', 3, 102, 99_000, 99_010, 'end')),
        deaths: deaths([101, 20_000], [103, 60_000]),
      },
    ],
  ])('%s', (_, over) => {
    expect(told(over)).toEqual([]);
  });
});
