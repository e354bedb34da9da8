import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { runInNewContext } from 'node:vm';
import { createProgram } from '../../src/cli/program';
import { enqueueEvents, type Queryable } from '../../src/producer';
import { isSetting } from '../support/documentedCommand';
import { allBlocks, pages as allPages, proseOf, ROOT } from '../support/markdown';

const ADAPTERS = ['overKnex', 'overDrizzle', 'overPostgresJs', 'overKysely'];

const pages = allPages();

test('there is something to check', () => {
  const paths = pages.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining(['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'docs/architecture.md']),
  );
  expect(paths.filter((path) => /^docs\/adr\/\d{4}-/.test(path)).length).toBeGreaterThanOrEqual(12);
});

describe.each(pages)('$path', ({ path, text }) => {
  const prose = proseOf(text);

  test('has no relative link that leads nowhere', () => {
    const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
    const broken = targets.filter(
      (target) => !/^(https?:|mailto:)/.test(target) && !leadsSomewhere(path, text, target),
    );
    expect(broken).toEqual([]);
  });

  test('names only test files that exist', () => {
    const named = [...text.matchAll(/\b[\w/-]*\w\.test\.ts\b/g)].map(([name]) => name);
    const files = [...filesBelow('test'), ...filesBelow('examples/movie-diary/test')];
    expect(named.filter((name) => !files.some((file) => file === name || file.endsWith(`/${name}`)))).toEqual([]);
  });

  test('quotes the names of tests as they are', () => {
    const sources = filesBelow('test').map((file) => readFileSync(join(ROOT, file), 'utf8').replaceAll("\\'", "'"));
    const quoted = path.startsWith('docs/adr/')
      ? section(prose, 'Guarantees')
          .replace(/`[^`]*`/g, '')
          .matchAll(/_([^_]{20,})_/g)
      : [];
    const names = [...quoted].map((match) => (match[1] ?? '').replace(/\s+/g, ' ').replace(/\s*…$/, ''));
    expect(names.filter((name) => !sources.some((source) => source.includes(name)))).toEqual([]);
  });

  test('mentions only verbs of `outbox` that exist, with options that they have', () => {
    const commands = [...text.matchAll(/(?:`|^|npx )outbox ([^`\n]*)/gm)].map((match) => match[1] ?? '');
    expect(commands.filter((command) => !isCommand(command))).toEqual([]);
  });

  test('mentions only settings that exist', () => {
    const names = new Set(
      [...text.matchAll(/\b(?:OUTBOX|EVENT_QUEUE|EVENT_BUS|NATS)_[A-Z][A-Z_]*[A-Z]\b/g)].map(([name]) => name),
    );
    expect([...names].filter((name) => !isSetting(name))).toEqual([]);
  });

  test('mentions only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
    const named = [...text.matchAll(/\bnpm (?:run )?((?:(?<=run )[\w:-]+)|start\b|test\b)/g)].map(
      (match) => match[1] ?? '',
    );
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  test('holds no path of somebody’s machine', () => {
    expect(text).not.toMatch(/(?<![\w.:/])\/(home|root|Users|work)\//);
  });
});

test('the adapters hand over one statement, each placeholder with its value', async () => {
  const events = [{ type: 'Paid', aggregateType: 'order', aggregateId: '?', payload: { 'a?': '$1 ? :x' } }];
  const given: [string, unknown[]][] = [];
  await enqueueEvents(
    { query: (text, values = []) => Promise.resolve({ rows: [], took: given.push([text, values]) }) },
    events,
  );
  const [text = '', [json, channel] = []] = given[0] ?? [];
  expect(text.match(/\$\d/g)).toEqual(['$1', '$2', '$2']);
  const sql = Object.assign((_: unknown, value: unknown) => ({ value }), {
    raw: (part: string) => part,
    join: (parts: unknown[]) => parts,
  });
  const adapters = runInNewContext(
    `${allBlocks('js')
      .map((block) => block.text)
      .join('')}; ({ ${ADAPTERS.join()} })`,
    {
      sql,
      CompiledQuery: { raw: (...query: unknown[]) => query },
    },
  ) as Record<string, (tx: unknown) => Queryable>;
  const sent: Record<string, unknown> = {};
  const send =
    (name: string) =>
    (...args: unknown[]) =>
      Promise.resolve({ rows: [], sent: (sent[name] = args) });
  const tx = { raw: send('overKnex'), execute: send('overDrizzle'), unsafe: send('overPostgresJs'), executeQuery: send('overKysely') }; // prettier-ignore
  for (const name of ADAPTERS) await adapters[name]?.(tx).query(text, [json, channel]);
  const parts = text.split(/\$\d/);
  expect(sent).toEqual({
    overKnex: [parts.join('?'), [json, channel, channel]],
    overDrizzle: [[parts[0], { value: json }, parts[1], { value: channel }, parts[2], { value: channel }, parts[3]]],
    overPostgresJs: [text, [json, channel]],
    overKysely: [[text, [json, channel]]],
  });
});

function filesBelow(directory: string): string[] {
  return readdirSync(join(ROOT, directory), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(directory, name));
}

function leadsSomewhere(path: string, text: string, target: string): boolean {
  const [file = '', anchor] = decodeURI(target).split('#');
  const to = file === '' ? path : relative(ROOT, join(ROOT, dirname(path), file));
  if (to.startsWith('..') || !existsSync(join(ROOT, to))) return false;
  if (anchor === undefined) return true;
  return anchorsOf(file === '' ? text : readFileSync(join(ROOT, to), 'utf8')).includes(anchor);
}

function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

function section(text: string, heading: string): string {
  return text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
}

/** The words after `outbox`: verbs as far as there are any, then options and arguments. `outbox <verb>` stands for all. */
function isCommand(text: string): boolean {
  let at = createProgram();
  const words = text.split(/\s+/).filter(Boolean);
  if (words[0] === '<verb>' || words[0]?.startsWith('--')) return true;
  for (const word of words) {
    const verb = at.commands.find((command) => command.name() === word);
    if (verb) at = verb;
    else break;
  }
  // A sentence may go on behind a verb; behind nothing there must be one.
  if (at.parent === null) return false;
  const options = text.match(/(?<=\s)--[a-z-]+/g) ?? [];
  return options.every((option) => option === '--help' || at.options.some(({ long }) => long === option));
}
