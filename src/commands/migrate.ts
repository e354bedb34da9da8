import type { Command } from 'commander';
import { withDatabase } from '../cli/database';
import { registerAttributes, tellRegistration } from '../cli/searchAttributes';
import { print, printJson, warn } from '../cli/output';
import { addManual } from '../cli/manual';
import { DATABASE } from '../cli/variables';
import { loadConfig } from '../config';
import { wrongUse } from '../cli/failure';
import { renderRoles } from '../cli/rolesPage';
import { checkVersion } from '../postgres/checkVersion';
import { migrate } from '../postgres/migrate';
import { DEFAULT_ROLES, roleStatements } from '../postgres/roles';

interface MigrateOptions {
  check?: boolean;
  roles?: boolean;
  appRole?: string;
  workerRole?: string;
  operatorRole?: string;
  json?: boolean;
}

export function addMigrate(program: Command): void {
  const verb = program
    .command('migrate')
    .summary('create or upgrade the tables')
    .description(
      'Creates the outbox tables, or upgrades them to this build. Safe to run at any time and from several processes at once; data is kept. Then registers the search attributes of the Temporal UI where Temporal is reached and allows it; without them everything works but the filters of its lists.',
    )
    .option('--check', 'change nothing; exit 1 when the tables are older than this build')
    .option('--roles', 'change nothing, connect nowhere; print the grants for roles of least privilege')
    .option('--app-role <name>', `with --roles: who may write events (default: ${DEFAULT_ROLES.app})`)
    .option('--worker-role <name>', `with --roles: who runs workers and verbs (default: ${DEFAULT_ROLES.worker})`)
    .option('--operator-role <name>', `with --roles: who may look (default: ${DEFAULT_ROLES.operator})`)
    .option('--json', 'print the result as JSON')
    .action(runMigrate);
  addManual(verb, {
    environment: DATABASE,
    exits: {
      0: 'the tables are those of this build',
      1: 'they are not, or were migrated by a newer build past a breaking change; the reason is on stderr',
    },
    examples: [
      ['outbox migrate', 'as a step of the deployment, before the workers'],
      ['OUTBOX_SCHEMA=billing outbox migrate', 'another installation in the same database'],
      ['outbox migrate --check && echo up to date', 'in a script'],
      ['outbox migrate --roles --app-role shop | psql "$DATABASE_URL"', 'as the owner of the tables'],
    ],
    seeAlso: ['doctor', 'worker'],
  });
}

async function runMigrate(options: MigrateOptions): Promise<void> {
  const config = loadConfig();
  if (options.roles) {
    printRoles(config.schema, options);
    return;
  }
  if (options.appRole ?? options.workerRole ?? options.operatorRole) throw wrongUse('Names of roles go with --roles.');
  await withDatabase(config, async (db) => {
    if (options.check) {
      await checkVersion(db, warn);
      if (options.json) printJson({ schema: config.schema, upToDate: true });
      else print(`Schema ${config.schema} is up to date.`);
      return;
    }
    const { applied, version } = await migrate(db, warn);
    if (!options.json) {
      if (applied.length === 0) print(`Schema ${config.schema} is up to date (version ${version}).`);
      else print(`Schema ${config.schema} is at version ${version} now: applied ${applied.join(', ')}.`);
    }
    const searchAttributes = await registerAttributes();
    tellRegistration(searchAttributes);
    if (options.json) printJson({ schema: config.schema, version, applied, searchAttributes: searchAttributes.kind });
  });
}

function printRoles(schema: string, options: MigrateOptions): void {
  if (options.check) throw wrongUse('Give --check or --roles, not both.');
  const roles = {
    app: options.appRole ?? DEFAULT_ROLES.app,
    worker: options.workerRole ?? DEFAULT_ROLES.worker,
    operator: options.operatorRole ?? DEFAULT_ROLES.operator,
  };
  if (options.json) printJson({ schema, roles, statements: roleStatements(schema, roles) });
  else print(renderRoles(schema, roles));
}
