import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../support/markdown';

/** How the page marks a test that `npm test` skips. */
const LONG_MARK = ', in `npm run test:long`';
const LONG_CONDITION = `process.env.OUTBOX_TEST_LONG === 'on'`;
type Runs = 'always' | 'long';

const page = readFileSync(join(ROOT, 'docs/guarantees.md'), 'utf8');

test('each guarantee, and each thing that is none, stands with its reason and its test', () => {
  const rows = rowsOf(page);
  expect(rows.length).toBeGreaterThan(50);
  const incomplete = rows.filter(([what, why, proof]) => !what || !why || proofsOf(proof ?? '').length === 0);
  expect(incomplete).toEqual([]);
});

test('few have no test, and say why', () => {
  const without = rowsOf(page).filter(([, , proof = '']) => proof.startsWith('none'));
  expect(without.map(([what]) => what)).toEqual(['Isolation of tenants.', 'A latency.']);
});

test('each test that is named exists in the file that is named, runs, and is said to be a long one where it is', () => {
  expect(missing(page)).toEqual([]);
});

test('a test that was renamed, or is skipped, would be found', () => {
  const row = (name: string) => `| it is so | by design | [claim](../test/integration/claim.test.ts): _${name}_ |`;
  expect(missing(row('never share a row'))).toEqual([]);
  expect(missing(row('never share a ro'))).toEqual(['test/integration/claim.test.ts: never share a ro']);
  expect(missing(row('never share a row').replace('claim.test', 'absent.test'))).toEqual([
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
  expect(missing(row('crash/targets.test.ts', LONG_MARK, long))).toEqual([]);
  expect(missing(row('crash/targets.test.ts', '', long))).toEqual([`test/crash/targets.test.ts: ${long}`]);
  expect(missing(row('integration/claim.test.ts', LONG_MARK, 'never share a row'))).toHaveLength(1);
});

/** Rows of the tables, without their heads; each as its cells. */
function rowsOf(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('| '));
  return lines
    .map((line) => line.replace(/^\| | \|$/g, '').split(' | '))
    .filter(([first = '']) => !/^(guarantee|not guaranteed|-+)$/.test(first));
}

/** `[words](../test/….test.ts): _name of the test, as its source has it_`, one or more; or `none: reason`. */
function proofsOf(cell: string): { file: string; name: string; runs: Runs }[] {
  if (/^none: .+/.test(cell)) return [{ file: '', name: '', runs: 'always' }];
  return [...cell.matchAll(/\]\(\.\.\/([\w/-]+\.test\.ts)\)(, in `npm run test:long`)?: _(.+?)_(?=; \[| \||$)/g)].map(
    ([, file = '', mark, name = '']) => ({ file, name, runs: mark === LONG_MARK ? 'long' : 'always' }),
  );
}

function missing(text: string): string[] {
  return rowsOf(text)
    .flatMap(([, , proof = '']) => proofsOf(proof))
    .filter(({ file, name, runs }) => file !== '' && titlesOf(sourceOf(file)).get(name) !== runs)
    .map(({ file, name }) => `${file}: ${name}`);
}

function sourceOf(file: string): string {
  return ts.sys.readFile(join(ROOT, file)) ?? '';
}

/**
 * Titles of the tests of a file that run, and of their blocks: first arguments of `describe`, `it` and `test`, of their
 * `.each` and `.concurrent`, and of what is called by another name there. `%s` stands as in the source.
 */
function titlesOf(text: string): Map<string, Runs> {
  const titles = new Map<string, Runs>();
  const file = ts.createSourceFile('', text, ts.ScriptTarget.Latest, true);
  const aliases = new Map<string, ts.Expression>();
  const visit = (node: ts.Node, around: Runs): void => {
    if (ts.isVariableDeclaration(node) && node.initializer) aliases.set(node.name.getText(), node.initializer);
    const title = ts.isCallExpression(node) && node.arguments.length > 0 ? titleOf(node.arguments[0]!) : undefined;
    const called = title === undefined ? undefined : calledOf((node as ts.CallExpression).expression, aliases);
    if (title === undefined || called === undefined) return ts.forEachChild(node, (child) => visit(child, around));
    if (called === 'never') return;
    const runs = around === 'long' ? 'long' : called;
    titles.set(title, runs);
    ts.forEachChild(node, (child) => visit(child, runs));
  };
  visit(file, 'always');
  return titles;
}

function titleOf(node: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  return ts.isTemplateExpression(node) ? node.getText().slice(1, -1) : undefined;
}

/** When what is called here runs a test: undefined when it is none of jest's. A test that only some machines run proves nothing. */
function calledOf(node: ts.Expression, aliases: ReadonlyMap<string, ts.Expression>): Runs | 'never' | undefined {
  if (ts.isIdentifier(node)) {
    if (['describe', 'it', 'test'].includes(node.text)) return 'always';
    if (['xdescribe', 'xit', 'xtest'].includes(node.text)) return 'never';
    const alias = aliases.get(node.text);
    return alias && !ts.isIdentifier(alias) ? calledOf(alias, aliases) : undefined;
  }
  if (ts.isPropertyAccessExpression(node)) {
    const called = calledOf(node.expression, aliases);
    return called && ['skip', 'todo'].includes(node.name.text) ? 'never' : called;
  }
  if (ts.isConditionalExpression(node)) {
    const either = [calledOf(node.whenTrue, aliases), calledOf(node.whenFalse, aliases)];
    if (either.includes(undefined)) return undefined;
    return node.condition.getText() === LONG_CONDITION && either[0] === 'always' ? 'long' : 'never';
  }
  const isEach = (called: ts.Expression) => ts.isPropertyAccessExpression(called) && called.name.text === 'each';
  if (ts.isCallExpression(node) && isEach(node.expression)) return calledOf(node.expression, aliases);
  if (ts.isTaggedTemplateExpression(node) && isEach(node.tag)) return calledOf(node.tag, aliases);
  return undefined;
}
