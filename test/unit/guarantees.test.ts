import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/markdown';
import { LONG_MARK, missing, proofsOf, rowsOf, titlesOf } from '../support/proofs';

const page = readFileSync(join(ROOT, 'docs/guarantees.md'), 'utf8');

test('each guarantee, and each thing that is none, stands with its reason and its test', () => {
  const rows = guaranteesOf(page);
  expect(rows.length).toBeGreaterThan(50);
  const incomplete = rows.filter(([what, why, proof]) => !what || !why || !isProven(proof));
  expect(incomplete).toEqual([]);
});

test('few have no test, and say why', () => {
  const without = guaranteesOf(page).filter(([, , proof = '']) => proof.startsWith('none'));
  expect(without.map(([what]) => what)).toEqual(['Isolation of tenants.', 'A latency.']);
});

test('each test that is named exists in the file that is named, runs, and is said to be a long one where it is', () => {
  expect(missingOf(page)).toEqual([]);
});

test('a test that was renamed, or is skipped, would be found', () => {
  const row = (name: string) => `| it is so | by design | [claim](../test/integration/claim.test.ts): _${name}_ |`;
  expect(missingOf(row('never share a row'))).toEqual([]);
  expect(missingOf(row('never share a ro'))).toEqual(['test/integration/claim.test.ts: never share a ro']);
  expect(missingOf(row('never share a row').replace('claim.test', 'absent.test'))).toEqual([
    'test/integration/absent.test.ts: never share a row',
  ]);
});

test('only what runs under a title counts, and what runs in the long tests only counts as that', () => {
  const source = `
    const long = process.env.OUTBOX_TEST_LONG === 'on' ? it.concurrent : it.concurrent.skip;
    const here = existsSync('x') ? it : it.skip;
    describe('a block', () => {
      it('one', () => expect(page).toContain('words'));
      it.concurrent.each(['%s'])('each of %s', () => enqueue('nothing'));
      describe.skip('left out', () => it('two', () => undefined));
      it.skip('three', () => undefined);
      xit('four', () => undefined);
      it.todo('five');
    });
    long.each([1])('long', () => undefined);
    here('perhaps', () => undefined);`;
  expect([...titlesOf(source)]).toEqual([
    ['a block', 'always'],
    ['one', 'always'],
    ['each of %s', 'always'],
    ['long', 'long'],
  ]);
});

test('a long test that is called an ordinary one would be found, and the other way round', () => {
  const row = (file: string, mark: string, name: string) => `| so | why | [t](../test/${file})${mark}: _${name}_ |`;
  const long = 'events of a worker that is killed (%s, backend %s) are handled again within 15 s when not begun, 40 s when begun, with the default settings'; // prettier-ignore
  expect(missingOf(row('crash/targets.test.ts', LONG_MARK, long))).toEqual([]);
  expect(missingOf(row('crash/targets.test.ts', '', long))).toEqual([`test/crash/targets.test.ts: ${long}`]);
  expect(missingOf(row('integration/claim.test.ts', LONG_MARK, 'never share a row'))).toHaveLength(1);
});

function guaranteesOf(text: string): string[][] {
  return rowsOf(text).filter(([first = '']) => !/^(guarantee|not guaranteed|-+)$/.test(first));
}

function isProven(cell = ''): boolean {
  return /^none: .+/.test(cell) || proofsOf(cell).length > 0;
}

function missingOf(text: string): string[] {
  return missing(guaranteesOf(text).flatMap(([, , proof = '']) => proofsOf(proof)));
}
