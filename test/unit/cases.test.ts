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

test('each test that cites a case stands in the row of that case', () => {
  const rows = new Map(
    cases.map(([name = '', , , proof = '']) => [name, [...proofsOf(proof), ...someProofsOf(proof)]]),
  );
  const missingThere = [...allTitles(), ...someTitles()].flatMap(({ file, title }) =>
    citedIn(title)
      .filter((number) => !rows.get(number)?.some((proof) => proof.file === file && proof.name === title))
      .map((number) => `${number}: ${file}: ${title}`),
  );
  expect(missingThere).toEqual([]);
});

test('a test that only some machines run pins nothing by itself, is marked so in its row, and cites its case', () => {
  const stated = cases.flatMap(([name = '', , , proof = '']) =>
    someProofsOf(proof).map((one) => ({ ...one, case: name })),
  );
  expect(stated.length).toBeGreaterThan(0);
  for (const { file, name, case: number } of stated) {
    expect(someTitles()).toContainEqual({ file, title: name });
    expect(citedIn(name)).toContain(number);
  }
  const alone = cases.filter(([, , , proof = '']) => someProofsOf(proof).length > 0 && proofsOf(proof).length === 0);
  expect(alone).toEqual([]);
});

test('a title cites at its end, and nothing but one of the thirty', () => {
  const others = allTitles().filter(({ title }) => {
    const numbers = title.match(/\bC\d\d\b/g) ?? [];
    return numbers.join() !== citedIn(title).join() || numbers.some((number) => !names.includes(number));
  });
  expect(others).toEqual([]);
});

/** `[words](../test/….test.ts), where …: _name of the test_`: what only some machines can run. */
function someProofsOf(cell: string): { readonly file: string; readonly name: string }[] {
  return [...cell.matchAll(/\]\(\.\.\/([\w/-]+\.test\.ts)\), where [^:|]+: _(.+?)_(?=; \[| \||$)/g)].map(
    ([, file = '', name = '']) => ({ file, name }),
  );
}

/** Titles that cite a case, of tests that are skipped where they cannot be run: `(may ? it : it.skip)('…', …)`. */
function someTitles(): { readonly file: string; readonly title: string }[] {
  const files = [...new Set(allTitles().map(({ file }) => file))];
  return files.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/\? (?:it|test) : (?:it|test)\.skip\)\(\s*(['"`])(.+?)\1,/g)]
      .map(([, , title = '']) => ({ file, title }))
      .filter(({ title }) => citedIn(title).length > 0),
  );
}

/** `… (C07)` or `… (C37, C40)`. */
function citedIn(title: string): string[] {
  return / \((C\d\d(?:, C\d\d)*)\)$/.exec(title)?.[1]?.split(', ') ?? [];
}
