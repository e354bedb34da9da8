import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../support/markdown';

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

test('each test that is named exists, in the file that is named', () => {
  expect(missing(page)).toEqual([]);
});

test('a test that was renamed would be found', () => {
  const row = (name: string) => `| it is so | by design | [claim](../test/integration/claim.test.ts): _${name}_ |`;
  expect(missing(row('never share a row'))).toEqual([]);
  expect(missing(row('never share a ro'))).toEqual(['test/integration/claim.test.ts: never share a ro']);
  expect(missing(row('never share a row').replace('claim.test', 'absent.test'))).toEqual([
    'test/integration/absent.test.ts: never share a row',
  ]);
});

/** Rows of the tables, without their heads; each as its cells. */
function rowsOf(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('| '));
  return lines
    .map((line) => line.replace(/^\| | \|$/g, '').split(' | '))
    .filter(([first = '']) => !/^(guarantee|not guaranteed|-+)$/.test(first));
}

/** `[words](../test/….test.ts): _name of the test, as its source has it_`, one or more; or `none: reason`. */
function proofsOf(cell: string): { file: string; name: string }[] {
  if (/^none: .+/.test(cell)) return [{ file: '', name: '' }];
  return [...cell.matchAll(/\]\(\.\.\/([\w/-]+\.test\.ts)\): _(.+?)_(?=; \[| \||$)/g)].map(
    ([, file = '', name = '']) => ({ file, name }),
  );
}

function missing(text: string): string[] {
  return rowsOf(text)
    .flatMap(([, , proof = '']) => proofsOf(proof))
    .filter(({ file, name }) => file !== '' && !titlesOf(file).includes(name))
    .map(({ file, name }) => `${file}: ${name}`);
}

/** First arguments of `describe`, `it` and `test`, of their `.each` and of what was made of them; `%s` as in the source. */
function titlesOf(file: string): string[] {
  const text = ts.sys.readFile(join(ROOT, file));
  if (text === undefined) return [];
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const [title] = node.arguments;
      if (title && ts.isStringLiteralLike(title)) titles.push(title.text);
      else if (title && ts.isTemplateExpression(title)) titles.push(title.getText().slice(1, -1));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  return titles;
}
