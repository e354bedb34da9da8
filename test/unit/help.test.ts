import type { Command } from 'commander';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { manualOf } from '../../src/cli/manual';
import { createProgram } from '../../src/cli/program';

const WIDTH = 80;
/** Each stands alone in its line, in this order; those in brackets only where there is something to say. */
const SECTIONS = /^Usage: [^]*?\n(Arguments:\n[^]*?)?Options:\n[^]*?\n([A-Z][\w ]+:\n[^]*?)*Environment:\n[^]*?\nExit codes:\n[^]*?\nExamples:\n[^]*?\nSee also:\n/m; // prettier-ignore

function verbs(command: Command, path = 'outbox'): [string, Command][] {
  return [[path, command], ...command.commands.flatMap((each) => verbs(each, `${path} ${each.name()}`))] satisfies [
    string,
    Command,
  ][];
}

const ALL = verbs(createProgram());
const names = ALL.map(([name]) => name);

describe.each(ALL)('%s --help', (name, command) => {
  const manual = manualOf(command);
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => WIDTH });
  command.outputHelp();

  test('begins with the verb and its summary, and has the sections of a manual page in their order', () => {
    expect(help.split('\n')[0]).toBe(command.summary() ? `${name} - ${command.summary()}` : name);
    expect(help).toMatch(SECTIONS);
    expect(help.split('\n').filter((line) => line.length > WIDTH)).toEqual([]);
  });

  test('describes the verb, and every argument and option', () => {
    expect(command.description()).toMatch(/\.$/);
    for (const option of command.options) expect(option.description).not.toBe('');
    for (const argument of command.registeredArguments) expect(argument.description).not.toBe('');
  });

  test('tells the default of each option that has one, and the exit codes of success, failure and wrong use', () => {
    for (const { defaultValue, negate, flags } of command.options) {
      if (defaultValue !== undefined && !negate)
        expect(`${flags}: ${help}`).toContain(`(default: ${JSON.stringify(defaultValue)})`);
    }
    expect(Object.keys(manual?.exits ?? {})).toEqual(expect.arrayContaining(['0', '1']));
    expect(help).toMatch(/\n {2}2 {2}wrong use: /);
  });

  test('has examples that parse, and names further verbs that exist', () => {
    expect(manual?.examples.length).toBeGreaterThan(0);
    for (const [example] of manual?.examples ?? []) {
      const used = [...example.replaceAll('\\\n', ' ').matchAll(/\boutbox ([^|&)>]*)/g)].map(([, words = '']) => words);
      expect(used.map(problemOf).filter(Boolean)).toEqual([]);
    }
    for (const verb of manual?.seeAlso ?? []) {
      expect([...names, 'outbox help']).toContain(`outbox ${verb}`);
      expect(`outbox ${verb}`).not.toBe(name);
    }
  });
});

test('an example with an option that does not exist would be told from that', () => {
  expect(problemOf('status --nosuch')).toMatch(/--nosuch/);
  expect(problemOf('nosuch')).toMatch(/nosuch/);
});

/** Without doing it: what the parser has against these words. */
function problemOf(words: string): string | undefined {
  const program = createProgram();
  for (const [, command] of verbs(program)) {
    command.configureOutput({ writeErr: () => undefined });
    if (command.commands.length === 0) command.action(() => undefined);
  }
  try {
    const split = words.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
    program.parse(split, { from: 'user' });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

test('the documents name every verb, and so does the CHANGELOG', () => {
  const root = join(__dirname, '..', '..');
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  const documents = ['README.md', ...docs.map((name) => join('docs', name))].map(read).join('\n');
  const leaves = ALL.filter(([, command]) => command.commands.length === 0).map(([name]) => name);
  expect(leaves.filter((name) => !documents.includes(name))).toEqual([]);
  expect(leaves.filter((name) => !read('CHANGELOG.md').includes(`\`${name.replace('outbox ', '')}\``))).toEqual([]);
});

test('`outbox --help` names every verb of the design', () => {
  const found = createProgram().commands.map((command) => command.name());
  expect(found.sort()).toEqual(
    [
      ...['completion', 'config', 'dead', 'dev', 'doctor', 'drain', 'enqueue', 'forget', 'handlers', 'migrate'],
      ...['pause', 'prune', 'reconcile', 'reemit', 'resume', 'retry', 'show', 'skip', 'status', 'waiting', 'worker'],
    ].sort(),
  );
});
