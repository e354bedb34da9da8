import type { Command } from 'commander';
import { colors } from '../cli/colors';
import { print, printJson, table } from '../cli/output';
import { settingsOf, temporalSettingsOf, type Setting } from '../cli/settings';
import { addManual } from '../cli/manual';
import { loadConfig } from '../config';

export function addConfig(program: Command): void {
  const verb = program
    .command('config')
    .summary('show every setting, with its variable')
    .description(
      'Shows every setting with its environment variable, the value in force, and whether that was given or is the default. Passwords, tokens and keys are masked. Problems are all listed at once.',
    )
    .option('--json', 'print an array of objects as JSON')
    .action(runConfig);
  addManual(verb, {
    environment: [],
    exits: { 0: 'the settings can be used', 1: 'a setting is wrong: all of them are listed on stderr' },
    examples: [
      ['outbox config', 'every setting, and where its value comes from'],
      [`outbox config --json | jq '.[] | select(.source == "given")'`, 'only what was given'],
    ],
    seeAlso: ['doctor', 'worker'],
  });
}

async function runConfig(options: { json?: boolean }): Promise<void> {
  const config = loadConfig();
  const { readTemporalSettings } = await import('../temporal/settings.js');
  const settings = [
    ...settingsOf(config, process.env),
    ...temporalSettingsOf(readTemporalSettings().given, process.env),
  ];
  if (options.json) printJson(settings);
  else print(table(['VARIABLE', 'VALUE', 'FROM'], settings.map(row)));
}

function row({ variable, value, source }: Setting): string[] {
  const shown = value === null ? colors.dim('not set') : String(value);
  return [variable, shown, source === 'default' ? colors.dim(source) : source];
}
