import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  cleanUpActions,
  failureActions,
  missingHandlerActions,
  receiveActions,
  relayActions,
  secondsToDeath,
  stateActions,
} from '../../bench/actions';
import { ROOT } from '../support/markdown';

const page = readFileSync(join(ROOT, 'docs/scaling.md'), 'utf8');
const performance = readFileSync(join(ROOT, 'docs/performance.md'), 'utf8');

/** What the page says of a day, by the first cell of its row. */
const DAYS: Record<string, number> = {
  idle: relayActions(0),
  '1 event/s': relayActions(1),
  '100 events/s': relayActions(100),
  '1,000 events/s': relayActions(1_000),
  'each worker with handlers (`nats`), idle': receiveActions(false),
  'each worker with handlers (`nats`), busy': receiveActions(true),
  '100 events/s, 1 % fail once': relayActions(100) + 86_400 * failureActions(1),
  'incident: a handler of 100 events/s fails for an hour': 3_600 * 100 * failureActions(10),
  'an event whose handler no worker has': missingHandlerActions(),
  'the clean-up': cleanUpActions(),
  'a relay or consumer that is paused, each worker that is scraped': stateActions(),
};

test.each(Object.entries(DAYS))('a day of %s costs what the arithmetic says', (name, actions) => {
  const row = page.split('\n').find((line) => line.startsWith(`| ${name} |`));
  expect(row?.split(' | ').at(-1)?.replace(/ \|$/, '')).toBe(rounded(actions));
});

test('the arithmetic agrees with what was measured where both are there', () => {
  const measured = (name: string) => {
    const row = performance.split('\n').find((line) => line.startsWith(`| ${name} |`));
    return Number(row?.split(' | ').at(-1)?.replace(/\D/g, ''));
  };
  for (const [name, rate] of [['idle', 0], ['1 event/s', 1], ['100 events/s', 100]] as const) {
    expect(relayActions(rate) / measured(name)).toBeCloseTo(1, 1);
  } // prettier-ignore
});

test('an event that fails once costs 4 actions, one that dies 20, some 20 minutes after its first failure', () => {
  expect([failureActions(1), failureActions(10)]).toEqual([4, 20]);
  expect(page).toContain(`${Math.round(secondsToDeath() / 60)} minutes`);
});

/** Two digits are as many as the model is good for. */
function rounded(actions: number): string {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(actions)) - 1);
  return (Math.round(actions / unit) * unit).toLocaleString('en-US');
}
