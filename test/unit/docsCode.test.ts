import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { parseAllDocuments } from 'yaml';
import { allBlocks, blocksOf, pages, ROOT, type Block } from '../support/markdown';
import { wrongWith } from '../support/documentedCommand';
import { commandsOf } from '../support/shell';
import { errorsOf } from '../support/typeCheck';

/** Each language has a test: those without it could hold anything. SQL is run in test/integration/docsRun.test.ts. */
const LANGUAGES = ['ts', 'js', 'sh', 'sql', 'json', 'yaml', 'mermaid'];

const READS = {
  js: isScript,
  json: isJson,
  yaml: (text: string) => parseAllDocuments(text).every(({ errors }) => errors.length === 0),
};

const blocks = pages().flatMap(blocksOf);

test('each block has a language that is checked, or says why it cannot be', () => {
  const unchecked = blocks.filter(({ language, notRun }) => !LANGUAGES.includes(language) && notRun === undefined);
  expect(unchecked.map(place)).toEqual([]);
});

test('no code stands in an indented block, where no test would see it', () => {
  const indented = pages().flatMap(({ path, text }) =>
    [...text.replace(/^ *```[^]*?^ *```$/gm, '').matchAll(/\n\n {4,}(?![-*\d|])(\S.*)/g)].map(([, code]) => `${path}: ${code}`),
  ); // prettier-ignore
  expect(indented).toEqual([]);
});

test('few blocks are not run, and these', () => {
  const notRun = blocks.filter((block) => block.notRun !== undefined);
  expect(notRun.map((block) => `${block.page}: ${block.notRun}`)).toEqual([]);
});

test('TypeScript compiles against the package, and one example of ours that does not is found', () => {
  const examples = allBlocks('ts').filter(({ excerptOf }) => excerptOf === undefined);
  expect(examples.length).toBeGreaterThan(5);
  const broken = `import { enqueueEvent } from 'temporal-outbox/producer';\nvoid enqueueEvent;`;
  expect(errorsOf([...examples.map(({ text }) => text), broken])).toEqual([expect.stringContaining('enqueueEvent')]);
});

test('excerpts are lines of the file that they name, but for comments at their ends', () => {
  const excerpts = blocks.filter(({ excerptOf }) => excerptOf !== undefined);
  const strange = excerpts.filter(
    ({ excerptOf, text }) =>
      !readFileSync(join(ROOT, excerptOf ?? ''), 'utf8').includes(text.replace(/ \/\/ .*$/gm, '')),
  );
  expect(strange.map(place)).toEqual([]);
  expect(excerpts.length).toBeGreaterThan(0);
});

test('JavaScript, JSON and YAML can be read', () => {
  const broken = (['js', 'json', 'yaml'] as const).flatMap((language) =>
    allBlocks(language).filter(({ text }) => !READS[language](text)),
  );
  expect(broken.map(place)).toEqual([]);
});

test.each([
  ['js', 'const a = ;'],
  ['json', '{"a": }'],
  ['yaml', 'a: [1'],
] as const)('broken %s would be found', (language, text) => {
  expect(READS[language](text)).toBe(false);
});

test('no message of a sequence diagram holds a semicolon, which ends it there and breaks the diagram', () => {
  const broken = allBlocks('mermaid').filter(({ text }) => /^sequenceDiagram[^]*: [^\n]*;/.test(text));
  expect(broken.map(place)).toEqual([]);
});

test('shell blocks hold verbs, scripts, files and variables that exist', () => {
  const wrong = allBlocks('sh').flatMap((block) =>
    commandsOf(block.text).flatMap((command) => {
      const problem = wrongWith(command);
      return problem === undefined ? [] : [`${place(block)}: ${problem}`];
    }),
  );
  expect(wrong).toEqual([]);
});

test.each([
  ['outbox statsu', "unknown command 'statsu'"],
  ['outbox status --wtach', "unknown option '--wtach'"],
  ['outbox skip 1', 'not specified'],
  ['npm run bnech', 'no such script'],
  ['npx jest test/unit/absent.test.ts', 'does not exist'],
  ['export OUTBOX_BATCHSIZE=1', 'OUTBOX_BATCHSIZE is no setting'],
  ['OUTBOX_BATCH_SIZE=1 outbx status', 'outbx is a program that no test knows'],
  ['outbox status | jgrep .relay', 'jgrep'],
  ['docker compose logs wroker', 'wroker is no service'],
  ['docker compose exec worker outbox statsu', "unknown command 'statsu'"],
])('%j would be found', (text, problem) => {
  expect(commandsOf(text).map(wrongWith).filter(Boolean)).toEqual([expect.stringContaining(problem)]);
});

test('a shell text is read as a shell reads it', () => {
  expect(
    commandsOf(
      'A=1 B="x y" one \'two three\' # no\nfour \\\n  --five=6 2>/dev/null | seven && eight "a \\" b"; nine <id>\n',
    ),
  ).toEqual([
    { variables: { A: '1', B: 'x y' }, words: ['one', 'two three'] },
    { variables: {}, words: ['four', '--five=6'] },
    { variables: {}, words: ['seven'] },
    { variables: {}, words: ['eight', 'a " b'] },
    { variables: {}, words: ['nine', '<id>'] },
  ]);
});

function place({ page, line, language }: Block): string {
  return `${page}:${line} (${language})`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isScript(text: string): boolean {
  const { diagnostics } = ts.transpileModule(text, { reportDiagnostics: true, compilerOptions: { allowJs: true } });
  return diagnostics?.length === 0;
}
