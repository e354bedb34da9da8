import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { completionScript, SHELLS } from '../../src/cli/completion';
import { createProgram } from '../../src/cli/program';

const directory = mkdtempSync(join(tmpdir(), 'outbox-completion-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
beforeAll(() => {
  for (const shell of SHELLS)
    writeFileSync(join(directory, `script.${shell}`), completionScript(createProgram(), shell));
  writeFileSync(join(directory, 'my handlers.js'), '');
});

/** As bash does it when Tab is pressed behind the last word. */
function inBash(...words: string[]): string[] {
  const program = `source ./script.bash
    spec=$(complete -p outbox) && [[ $spec =~ -F\\ ([^ ]+) ]] || exit 3
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "\${BASH_REMATCH[1]}"; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const found = execFileSync('bash', ['--norc', '-c', program, 'bash', 'outbox', ...words], { cwd: directory });
  return found.toString().split('\n').filter(Boolean);
}

describe('bash', () => {
  test('completes every verb, and what a verb has below it', () => {
    const names = createProgram().commands.map((command) => command.name());
    expect(inBash('')).toEqual(expect.arrayContaining([...names, 'help']));
    expect(inBash('rec')).toEqual(['reconcile']);
    expect(inBash('dead', 'l')).toEqual(['list']);
    expect(inBash('help', 'dea')).toEqual(['dead']);
  });

  test('completes the options of the verb that stands before them, and of no other', () => {
    expect(inBash('status', '--')).toEqual(['--watch', '--interval', '--json', '--help']);
    expect(inBash('dead', 'list', '--type', 'Paid', '--h')).toEqual(['--handler', '--help']);
    expect(inBash('--')).toEqual(['--version', '--help']);
  });

  test('completes values: choices, and names of files also with blanks in them', () => {
    expect(inBash('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
    expect(inBash('worker', '--handlers', 'my')).toEqual(['my handlers.js']);
    expect(inBash('enqueue', 'my')).toEqual(['my handlers.js']);
  });

  test('offers nothing where only the user knows the value', () => {
    expect(inBash('dead', 'list', '--since', '')).toEqual([]);
  });
});

describe.each(['zsh', 'fish'] as const)('%s', (shell) => {
  const isHere = spawnSync(shell, ['--version']).status === 0;
  const here = isHere ? test : test.skip;

  here(`reads its script without a word (skipped where there is no ${shell})`, () => {
    const { status, stderr } = spawnSync(shell, ['-n', join(directory, `script.${shell}`)]);
    expect({ status, stderr: stderr.toString() }).toEqual({ status: 0, stderr: '' });
  });

  test('has every verb and every option in its script', () => {
    const script = completionScript(createProgram(), shell);
    for (const command of createProgram().commands) {
      expect(script).toContain(command.name());
      for (const { long = '' } of command.options) expect(script).toContain(shell === 'fish' ? `-l ${long.slice(2)}` : long); // prettier-ignore
    }
  });
});

const fish = spawnSync('fish', ['--version']).status === 0 ? test : test.skip;
fish('fish completes verbs and options (skipped where there is no fish)', () => {
  const program = `source ./script.fish; complete -C 'outbox dead l'; complete -C 'outbox status --j'`;
  const found = execFileSync('fish', ['-N', '-c', program], {
    cwd: directory,
    env: { ...process.env, HOME: directory },
  });
  expect(found.toString()).toMatch(/^list\t.*\n--json\t.*\n$/);
});
