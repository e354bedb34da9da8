import type { Command } from 'commander';
import { withDatabase } from '../cli/database';
import { print, printJson, warn } from '../cli/output';
import { loadConfig } from '../config';
import { checkVersion, migrate } from '../postgres/migrate';

interface MigrateOptions {
  check?: boolean;
  json?: boolean;
}

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .summary('create or upgrade the tables')
    .description(
      'Creates the outbox tables, or upgrades them to this build. Safe to run at any time and from several processes at once; data is kept.',
    )
    .option('--check', 'change nothing; exit 1 when the tables are older than this build')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Examples:
  outbox migrate
  OUTBOX_SCHEMA=billing outbox migrate
  outbox migrate --check && echo up to date`,
    )
    .action(runMigrate);
}

async function runMigrate(options: MigrateOptions): Promise<void> {
  const config = loadConfig();
  await withDatabase(config, async (db) => {
    if (options.check) {
      await checkVersion(db, warn);
      if (options.json) printJson({ schema: config.schema, upToDate: true });
      else print(`Schema ${config.schema} is up to date.`);
      return;
    }
    const { applied, version } = await migrate(db, warn);
    if (options.json) printJson({ schema: config.schema, version, applied });
    else if (applied.length === 0) print(`Schema ${config.schema} is up to date (version ${version}).`);
    else print(`Schema ${config.schema} is at version ${version} now: applied ${applied.join(', ')}.`);
  });
}
