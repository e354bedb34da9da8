import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './markdown';

/** How a page marks a test that `npm test` skips. */
export const LONG_MARK = ', in `npm run test:long`';
const LONG_CONDITION = `process.env.OUTBOX_TEST_LONG === 'on'`;
type Runs = 'always' | 'long';

/** A test that a page names as the one that pins a sentence. */
export interface Proof {
  readonly file: string;
  /** As its source has it. */
  readonly name: string;
  readonly runs: Runs;
}

/** Rows of the tables of a page, each as its cells; heads are among them. */
export function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.replace(/^\| | \|$/g, '').split(' | '));
}

/** `[words](../test/….test.ts): _name of the test_`, one or more. */
export function proofsOf(cell: string): Proof[] {
  return [...cell.matchAll(/\]\(\.\.\/([\w/-]+\.test\.ts)\)(, in `npm run test:long`)?: _(.+?)_(?=; \[| \||$)/g)].map(
    ([, file = '', mark, name = '']) => ({ file, name, runs: mark === LONG_MARK ? 'long' : 'always' }),
  );
}

/** What is not in the file that is named, is skipped, or runs in the other of `npm test` and the long tests. */
export function missing(proofs: readonly Proof[]): string[] {
  return proofs
    .filter(({ file, name, runs }) => titlesIn(file).get(name) !== runs)
    .map(({ file, name }) => `${file}: ${name}`);
}

/** Titles of all tests and of their blocks, each with its file. */
export function allTitles(): { readonly file: string; readonly title: string }[] {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name))
    .flatMap((file) => [...titlesIn(file).keys()].map((title) => ({ file, title })));
}

const read = new Map<string, Map<string, Runs>>();

/** A page names one file many times; each is read once. */
function titlesIn(file: string): Map<string, Runs> {
  const titles = read.get(file) ?? titlesOf(ts.sys.readFile(join(ROOT, file)) ?? '');
  read.set(file, titles);
  return titles;
}

/**
 * Titles of the tests of a file that run, and of their blocks: first arguments of `describe`, `it` and `test`, of their
 * `.each` and `.concurrent`, and of what is called by another name there. `%s` stands as in the source.
 */
export function titlesOf(text: string): Map<string, Runs> {
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
