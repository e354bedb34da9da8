import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RULES } from '../../torture/checker/check';
import { FAULTS } from '../../torture/faults';
import { MUTANTS } from '../../torture/mutants';
import { rowsOf } from '../support/proofs';

const page = (name: string) => readFileSync(join(__dirname, '..', '..', 'docs', name), 'utf8');
const torture = page('torture.md');
const code = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '');

/** Rows of the table under a heading. */
function tableOf(text: string, heading: string): string[][] {
  const [, section = ''] = text.split(`\n${heading}\n`);
  const [own = ''] = section.split(/\n##+ /);
  // Behind the head and its line.
  return rowsOf(own).slice(2);
}

/** What the model's table calls what a build does. */
const IN_THE_MODEL: Readonly<Record<string, string>> = {
  'mark-without-token': 'mark without the token',
  'claim-by-high-water-mark': 'claim by high-water mark',
  'publish-without-id': 'publish without the id',
  'ack-before-hand-over': 'ack before the hand-over',
  'ledger-without-owner': 'ledger without the owner condition',
};

test('the page has each broken build, with the rules by which it is caught', () => {
  const told = tableOf(torture, '## Broken builds').map(([name, , rules]) => [code(name)[0], code(rules)]);
  const wanted = Object.entries(MUTANTS).map(([name, { rules }]) => [name, rules]);
  expect(new Map(told as [string, string[]][])).toEqual(new Map(wanted as [string, string[]][]));
});

test("the model's page says of each of its mutants that has a build by which rule that is caught, and of no other", () => {
  const told = tableOf(page('reliability.md'), '### Mutants').flatMap(([name, , , rules]) =>
    code(rules).length > 0 ? [[name, code(rules)]] : [],
  );
  const wanted = Object.entries(MUTANTS).map(([name, { rules }]) => [IN_THE_MODEL[name], rules]);
  expect(new Map(told as [string, string[]][])).toEqual(new Map(wanted as [string, string[]][]));
});

test('the page has each rule of the checker, and each fault', () => {
  const rules = tableOf(torture, '## What is checked').map(([name]) => code(name)[0]);
  expect([...rules].sort()).toEqual(Object.keys(RULES).sort());
  const faults = tableOf(torture, '## The faults').flatMap(([names]) => code(names));
  expect([...faults].sort()).toEqual(FAULTS.map(({ name }) => name).sort());
});

test('what a storm has found is kept by a test that names the seed', () => {
  const found = tableOf(torture, '## What storms have found');
  expect(found.length).toBeGreaterThan(2);
  for (const [what = '', seeds = '', now = ''] of found) {
    const [seed] = /--seed \d+/.exec(seeds) ?? [];
    const files = [...now.matchAll(/\]\(\.\.\/(test\/[^)]+)\)/g)].map(([, file]) => file ?? '');
    const texts = files.map((file) => readFileSync(join(__dirname, '..', '..', file), 'utf8'));
    expect({ what, cited: texts.some((text) => seed !== undefined && text.includes(seed)) }).toEqual({
      what,
      cited: true,
    });
  }
});
