import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program';

const WIDTH = 80;

function verbs(command: Command, path = 'outbox'): [string, Command][] {
  return [[path, command], ...command.commands.flatMap((each) => verbs(each, `${path} ${each.name()}`))] satisfies [
    string,
    Command,
  ][];
}

describe.each(verbs(createProgram()))('%s --help', (_, command) => {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => WIDTH });
  command.outputHelp();

  test('describes the verb, and every argument and option', () => {
    expect(command.description()).toMatch(/\.$/);
    for (const option of command.options) expect(option.description).not.toBe('');
    for (const argument of command.registeredArguments) expect(argument.description).not.toBe('');
  });

  test('ends with environment and exit codes, and fits into a terminal', () => {
    expect(help).toMatch(/\nEnvironment:\n[^]*\nExit codes:\n/);
    expect(help.split('\n').filter((line) => line.length > WIDTH)).toEqual([]);
  });
});

test('`outbox --help` names every verb of the design', () => {
  const names = createProgram().commands.map((command) => command.name());
  expect(names.sort()).toEqual(
    [
      ...['config', 'dead', 'dev', 'drain', 'enqueue', 'forget', 'handlers', 'migrate', 'pause', 'reconcile', 'reemit'],
      ...['resume', 'retry', 'show', 'skip', 'status', 'worker'],
    ].sort(),
  );
});
