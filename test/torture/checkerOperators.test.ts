import type { History } from '../../torture/checker/history';
import { command, DOOMED, entry, good, key, PLACED, told, without } from './histories';

const pause = [command('pause', 5_000, 6_000), command('resume', 9_000, 9_500)];
/** An event that came later than the pause. */
const NEW = '00000000-0000-4000-8000-000000000003';
const withNew = (at: number, known: number): Partial<History> => ({
  business: [...good.business, { eventId: NEW, type: 'Slow', producer: 'producer-1', cause: null }],
  queue: [...good.queue, { eventId: NEW, type: 'Slow', status: 'done', attempts: 0, reason: null }],
  ledger: [...good.ledger, { ...key(NEW, 'tell'), status: 'done' }],
  producers: [...good.producers, { kind: 'acknowledged', ids: [NEW], at: known }],
  stream: [...good.stream, { eventId: NEW, sequence: 3, at }],
  handlers: [...good.handlers, ...entry(NEW, 'tell', 1, 101, at, at + 10, 'end')],
});
const db = { ...good.rules, backend: 'db' } as const;

describe('a history is told of in which', () => {
  it.each<[string, Partial<History>, RegExp]>([
    [
      'an event was stored after a pause was confirmed',
      { ...withNew(6_200, 4_900), operators: pause },
      /^paused: was stored 200 ms after a pause was confirmed/,
    ],
    [
      'an event that came after a pause was stored by a worker that had stood still',
      { ...withNew(8_000, 7_900), operators: pause, standstills: [{ pid: 103, from: 5_100, to: 7_950 }] },
      /^paused: was stored 2000 ms after a pause was confirmed/,
    ],
    [
      'a handler got its first event after a pause was confirmed, with backend db',
      { ...withNew(7_000, 4_900), stream: [], rules: db, operators: pause },
      /^paused: tell was entered 1000 ms after a pause was confirmed/,
    ],
    [
      'a dead letter that was handed back was never entered again',
      { operators: [command('reemit', 1_900, 2_100, { dead: [key(DOOMED, 'tell')] })] },
      /^revived: tell was dead when all dead letters were handed back/,
    ],
    [
      'a row is gone, and nobody saw it go',
      { queue: without(good.queue, PLACED) },
      /^removed: is not in the outbox, and nobody saw it go/,
    ],
    ...(
      [
        ['was not done', { status: 'pending', doneForMs: null }, /^removed: was removed while it was pending/],
        ['was done too recently', { doneForMs: 900 }, /^removed: was removed when it had been done for 900 ms/],
        ['waited for a handler', { open: 1 }, /^removed: was removed while 1 of its handlers waited or were dead/],
        ['nobody had asked for', { at: 4_000 }, /^removed: was removed when nobody had asked for it/],
        ['was there after the prune that was asked for', { at: 6_500 }, /^removed: was removed when nobody had asked/],
      ] as const
    ).map(([what, over, expected]): [string, Partial<History>, RegExp] => [
      `a row was removed that ${what}`,
      {
        queue: without(good.queue, PLACED),
        operators: [command('prune', 5_000, 6_000)],
        removed: [{ eventId: PLACED, status: 'done', doneForMs: 1_100, open: 0, at: 5_900, ...over }],
      },
      expected,
    ]),
  ])('%s', (_, over, expected) => {
    expect(told(over).filter((text) => expected.test(text))).not.toEqual([]);
  });
});

describe('no fault is found when', () => {
  it.each<[string, Partial<History>]>([
    [
      'a prune whose command was ended removes rows later',
      {
        queue: without(good.queue, PLACED),
        operators: [command('prune', 5_000, 6_000, { code: null })],
        removed: [{ eventId: PLACED, status: 'done', doneForMs: 1_100, open: 0, at: 8_000 }],
      },
    ],
    [
      'rows that are done have been pruned',
      {
        queue: [],
        operators: [command('prune', 5_000, 6_000)],
        removed: [PLACED, DOOMED].map((eventId) => ({ eventId, status: 'done', doneForMs: 1_004, open: 0, at: 5_900 })),
      },
    ],
    [
      'what was committed before a pause was under way to a broker that stood still',
      {
        ...withNew(7_000, 4_900),
        operators: pause,
        outages: [{ server: 'nats', kind: 'freeze', from: 4_950, to: 6_990 }],
      },
    ],
    [
      'what was committed before a pause was in the hands of a worker that stood still, with backend db',
      {
        ...withNew(7_000, 4_900),
        ...{ stream: [], rules: db, operators: pause, standstills: [{ pid: 101, from: 4_950, to: 6_990 }] },
      },
    ],
    ['events flow after the resume was asked for', { ...withNew(9_010, 7_900), operators: pause }],
    [
      'events flow after a pause that nobody confirmed',
      { ...withNew(7_000, 6_900), operators: [command('pause', 5_000, 6_000, { code: 1 }), ...pause.slice(1)] },
    ],
    [
      'a delivery run goes on during a pause, with backend db',
      {
        ...{ rules: db, stream: [], operators: [command('pause', 1_205, 1_300), command('resume', 3_000, 3_100)] },
      },
    ],
  ])('%s', (_, over) => {
    expect(told(over)).toEqual([]);
  });
});
