import type { Command } from 'commander';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProgram } from '../../src/cli/program';
import { settingsOf } from '../../src/cli/settings';
import { loadConfig } from '../../src/config';
import { ConfigError } from '../../src/errors';
import { ROOT } from './markdown';
import type { ShellCommand } from './shell';

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
/** What the movie diary reads. */
const DIARY = ['src/settings.ts', 'demo/options.ts']
  .map((file) => readFileSync(join(ROOT, 'examples/movie-diary', file), 'utf8'))
  .join('');
/** Variables of programs that are not ours. */
const FOREIGN = /^(TEMPORAL_[A-Z_]+|NO_COLOR|PG[A-Z]+|OTEL_[A-Z_]+|NODE_[A-Z_]+|PATH)$/;
/** Programs that a reader has; what is said to them is theirs to judge. `temporal` is asked itself in another test. */
const TOOLS = ['curl', 'grep', 'jq', 'psql', 'pg_dump', 'pg_restore', 'cd', 'git', 'zcat', 'temporal', 'kill'];

/** @returns what is wrong with a command of a document, or undefined */
export function wrongWith({ variables, words }: ShellCommand): string | undefined {
  const unknown = Object.keys(variables).find((name) => !isVariable(name));
  if (unknown) return `${unknown} is no setting`;
  const [program = '', ...rest] = words;
  if (program === '') return undefined;
  if (program === 'outbox' || program.endsWith('/.bin/outbox')) return wrongWithOutbox(rest);
  if (program === 'npm') return wrongWithNpm(rest);
  if (program === 'npx' && rest[0] === 'outbox') return wrongWithOutbox(rest.slice(1));
  if (program === 'npx' && ['jest', 'tsx', 'eslint', 'prettier', 'tsc'].includes(rest[0] ?? ''))
    return missingFile(rest);
  if (program === 'node') return missingFile(rest);
  if (program === 'docker') return wrongWithCompose(rest);
  return TOOLS.includes(program) ? undefined : `${program} is a program that no test knows`;
}

/** The command line as commander reads it, without running anything. `<word>` stands for a value. */
export function wrongWithOutbox(words: readonly string[]): string | undefined {
  const program = createProgram();
  silence(program);
  try {
    program.parse(words.map(sample), { from: 'user' });
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    if (code !== 'commander.helpDisplayed' && code !== 'commander.version')
      return `outbox ${words.join(' ')}: ${message}`;
  }
  return undefined;
}

function silence(command: Command): void {
  command.exitOverride().configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  if (command.commands.length === 0) command.action(() => undefined);
  command.commands.forEach(silence);
}

/** A placeholder gets a value that options which look at theirs take. */
function sample(word: string): string {
  const UUID = '0190a5b0-0000-7000-8000-000000000000';
  return word
    .replace(/<(event_id|event id|id|uuid|tenant)(…|\.\.\.)?>/, UUID)
    .replace(/<(number|seconds|n|count)>/, '5')
    .replace(/<time>/, '2026-11-30T03:00:00Z')
    .replace(/^<.+>$/, 'name');
}

function wrongWithNpm([verb = '', ...rest]: readonly string[]): string | undefined {
  if (['i', 'install', 'ci', 'pack', 'audit'].includes(verb)) return undefined;
  const name = verb === 'run' ? (rest[0] ?? '') : verb;
  return name in scripts ? undefined : `npm ${verb} ${rest.join(' ')}: no such script`;
}

/** `docker compose [options] <verb> …` names services of ours, and what is run in one is judged like any command. */
function wrongWithCompose(words: readonly string[]): string | undefined {
  if (words[0] !== 'compose') return `docker ${words[0]}: only docker compose is used`;
  const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');
  const services = [...text.matchAll(/^ {2}([a-z-]+):$/gm)].map(([, name]) => name);
  const at = words.findIndex((word) => ['exec', 'run', 'logs', 'restart', 'stop', 'up'].includes(word));
  // Without the values of options.
  const [named, ...inside] = words
    .slice(at + 1)
    .filter((word, index, all) => !word.startsWith('-') && all[index - 1] !== '--scale');
  if (at === -1 || named === undefined) return undefined;
  if (!services.includes(named)) return `${named} is no service of docker-compose.yml`;
  return inside.length === 0 ? undefined : wrongWith({ variables: {}, words: inside });
}

function missingFile(words: readonly string[]): string | undefined {
  const missing = words.find((word) => /^[\w./-]+\.(ts|mjs|js)$/.test(word) && !existsSync(join(ROOT, word)));
  return missing === undefined ? undefined : `${missing} does not exist`;
}

/** `outbox config` lists the settings; those of the development servers are known to `loadConfig` only by not being refused. */
export function isSetting(name: string): boolean {
  if (settingsOf(loadConfig({}), {}).some(({ variable }) => variable === name)) return true;
  if (!name.startsWith('OUTBOX_')) return false;
  try {
    loadConfig({ [name]: '1' });
    return true;
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}

function isVariable(name: string): boolean {
  return isSetting(name) || FOREIGN.test(name) || DIARY.includes(name);
}
