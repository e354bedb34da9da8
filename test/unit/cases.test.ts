import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/markdown';
import { allTitles, missing, proofsOf, rowsOf } from '../support/proofs';

const CASES = 30;
/** One report in the tracker of a project that everybody can read. */
const REPORT = /\b[\w.-]+\/[\w.-]+#\d+/;

const page = readFileSync(join(ROOT, 'docs/reliability.md'), 'utf8');
const section = page.slice(page.indexOf('## The thirty cases'), page.indexOf('## The model'));
const cases = rowsOf(section).filter(([name = '']) => /^C\d\d$/.test(name));
const names = cases.map(([name = '']) => name);

test('each of the thirty cases stands once, with the reports that it came from and what happens here', () => {
  expect(names).toHaveLength(CASES);
  expect(names).toEqual([...new Set(names)].sort());
  const incomplete = cases.filter(
    ([, symptom = '', here, proof = '']) => !REPORT.test(symptom) || !here || proofsOf(proof).length === 0,
  );
  expect(incomplete).toEqual([]);
});

test('each test that is to pin a case exists, is run, and cites it', () => {
  expect(missing(cases.flatMap(([, , , proof = '']) => proofsOf(proof)))).toEqual([]);
  const silent = cases.flatMap(([name = '', , , proof = '']) =>
    proofsOf(proof).filter((one) => !citedIn(one.name).includes(name)),
  );
  expect(silent).toEqual([]);
});

test('a title cites at its end, and nothing but one of the thirty', () => {
  const others = allTitles().filter(({ title }) => {
    const numbers = title.match(/\bC\d\d\b/g) ?? [];
    return numbers.join() !== citedIn(title).join() || numbers.some((number) => !names.includes(number));
  });
  expect(others).toEqual([]);
});

/** `… (C07)` or `… (C37, C40)`. */
function citedIn(title: string): string[] {
  return / \((C\d\d(?:, C\d\d)*)\)$/.exec(title)?.[1]?.split(', ') ?? [];
}
