import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, RULES } from '../../torture/checker/check';
import type { History } from '../../torture/checker/history';
import { storyOf } from '../../torture/checker/story';
import { DOOMED, entry, good, key, PLACED, ROLLED_BACK, told, without } from './histories';

it('finds nothing in a history in which everything went as it should', () => {
  expect(check(good)).toEqual([]);
});

describe('a history is told of in which', () => {
  it.each<[string, Partial<History>, RegExp]>([
    [
      'an acknowledged commit is not there',
      { business: without(good.business, PLACED) },
      /^acknowledged: .*was acknowledged.*not there/,
    ],
    [
      'a rollback is there after all',
      { business: [...good.business, { eventId: ROLLED_BACK, type: 'Slow', producer: 'p', cause: null }] },
      /^acknowledged: .*was rolled back.*is there/,
    ],
    ['an event never reached the stream', { stream: without(good.stream, PLACED) }, /^lost: is not in the stream/],
    [
      'a handler never got its event',
      { ledger: good.ledger.filter(({ handler }) => handler !== 'tell'), handlers: [] },
      /^lost: tell is neither done nor dead/,
    ],
    [
      'the ledger says done of what no handler did',
      { handlers: good.handlers.filter(({ handler, kind }) => handler !== 'tell' || kind !== 'end') },
      /^lost: tell is done by the ledger, and never came to its end/,
    ],
    [
      'a rolled back event was published',
      { stream: [...good.stream, { eventId: ROLLED_BACK, sequence: 3, at: 1_060 }] },
      /^uncommitted: was rolled back, and is seen in the stream/,
    ],
    [
      'a rolled back event was handled',
      { handlers: [...good.handlers, ...entry(ROLLED_BACK, 'tell', 1, 1, 5_000, 5_001, 'end')] },
      /^uncommitted: was rolled back, and is seen in a handler/,
    ],
    [
      'a message has no id',
      { stream: [...good.stream, { eventId: 'message 3', sequence: 3, at: 1_060 }] },
      /^uncommitted: was never committed, and is seen in the stream/,
    ],
    [
      'an effect came twice',
      { effects: [...good.effects, { ...key(PLACED, 'book'), attempt: 2 }] },
      /^effects: book has 2 effects instead of 1/,
    ],
    ['an effect is missing', { effects: [] }, /^effects: book has 0 effects instead of 1/],
    [
      'an attempt that failed left its effect',
      { effects: [...good.effects, { ...key(DOOMED, 'book'), attempt: 1 }] },
      /^effects: book has 1 effects instead of 0/,
    ],
    [
      'a handler died before its attempts were spent',
      { deliveries: good.deliveries.map((row) => ({ ...row, attempts: 1 })) },
      /^dead: book died of 1 attempts instead of 2/,
    ],
    [
      'the relay gave up on an event',
      { queue: good.queue.map((row) => (row.eventId === PLACED ? { ...row, status: 'dead_lettered' } : row)) },
      /^dead: the relay gave it up/,
    ],
    [
      'what cannot succeed is done',
      { ledger: [...good.ledger, { ...key(DOOMED, 'tell'), status: 'done' }] },
      /^dead: tell cannot succeed, and is done/,
    ],
    [
      'a row is still in the hand of nobody',
      { queue: good.queue.map((row) => ({ ...row, status: 'processing' })) },
      /^left: is still processing/,
    ],
    [
      'a claim was never ended',
      { ledger: good.ledger.map((row) => ({ ...row, status: 'in_progress' })) },
      /^left: book is still in_progress/,
    ],
    [
      'a delivery waits for nobody',
      { deliveries: good.deliveries.map((row) => ({ ...row, state: 'waiting' })) },
      /^left: book still waits/,
    ],
    ['messages are not acknowledged', { unacknowledged: 2 }, /^left: 2 messages are not acknowledged/],
    [
      'an effect is of a handler that has no business with its event',
      { effects: [...good.effects, { ...key(PLACED, 'tell'), attempt: 1 }] },
      /^effects: tell has an effect, and is no transactional handler of a Placed/,
    ],
    [
      'a delivery run goes on when nothing waits',
      { runs: [DOOMED] },
      /^left: has a delivery run that is still running/,
    ],
    [
      'an event is in the stream twice',
      { stream: [...good.stream, { eventId: PLACED, sequence: 3, at: 1_060 }] },
      /^stored twice: is in the stream 2 times, at 1, 3/,
    ],
  ])('%s', (_, over, expected) => {
    expect(told(over).filter((text) => expected.test(text))).not.toEqual([]);
  });
});

it('each rule is broken by one of them', () => {
  const files = readdirSync(__dirname).filter((name) => name.startsWith('checker'));
  const source = files.map((name) => readFileSync(join(__dirname, name), 'utf8')).join('\n');
  for (const rule of Object.keys(RULES)) expect(source).toContain(`/^${rule}: `);
});

it('tells the story of an event in the order of time, with what was done to the world meanwhile', () => {
  const happenings = [{ from: 1_105, to: 1_115, what: 'kill worker 1' }];
  const story = storyOf(PLACED, good, happenings, 1_000).join('\n');
  expect(story).toMatch(
    /0\.000 s {2}its transaction: acknowledged[^]*0\.050 s {2}stored in the stream at 1[^]*0\.100 s {2}book begin[^]*kill worker 1[^]*0\.120 s {2}book end/,
  );
});

it('shares no code with what it checks', () => {
  const directory = join(__dirname, '..', '..', 'torture', 'checker');
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(10);
  for (const name of files) {
    const text = readFileSync(join(directory, name), 'utf8');
    for (const [, path = ''] of text.matchAll(/from '([^']+)'/g)) expect(path).not.toMatch(/src|dist|\.\.\/\.\./);
  }
});
