import { MigrationError } from '../errors';
import { binder, type Database } from './database';
import { appliedMigrations, codeOf, DIRECTORY, readMigrations, type AppliedRow, type Migration } from './migrations';

/** @throws MigrationError when a newer build has migrated past what this one can work with; otherwise that is only told */
export function refuseNewer(
  done: readonly AppliedRow[],
  known: readonly Migration[],
  schema: string,
  warn: (message: string) => void,
): void {
  const newest = known.at(-1)?.version ?? 0;
  const unknown = done.filter((row) => row.version > newest);
  if (unknown.length === 0) return;
  const names = unknown.map((row) => row.name).join(', ');
  const breaking = unknown.find((row) => row.breaking);
  if (breaking) {
    throw new MigrationError(
      'newer-database',
      `The schema ${schema} was migrated by a newer build past the breaking migration ${breaking.name}: run that build, this one would corrupt it.`,
    );
  }
  warn(`The schema ${schema} was migrated by a newer build (${names}); none of that breaks this one, so it goes on.`);
}

/**
 * For processes without the privilege to migrate: checks that the schema is at this build's version.
 *
 * @throws MigrationError that names the command to run
 */
export async function checkVersion(db: Database, warn: (message: string) => void = () => undefined): Promise<void> {
  const known = readMigrations(DIRECTORY);
  const bind = binder(db.schema);
  let done: AppliedRow[];
  try {
    done = await appliedMigrations(db.pool, bind);
  } catch (error) {
    const code = codeOf(error) ?? '';
    // Whoever may not look at what is there must not be sent to migrate.
    if (code === '42501' && (await isThere(db))) {
      throw new MigrationError(
        'unreadable',
        `The role in DATABASE_URL may not read the tables of schema ${db.schema}: let their owner run what \`outbox migrate --roles\` prints.`,
        { cause: error },
      );
    }
    if (!['42P01', '3F000', '42501'].includes(code)) throw error;
    done = [];
  }
  refuseNewer(done, known, db.schema, warn);
  const missing = known.filter((migration) => !done.some((row) => row.version === migration.version));
  if (missing.length > 0) {
    throw new MigrationError(
      'outdated-database',
      `The schema ${db.schema} lacks ${missing.map((migration) => migration.name).join(', ')}: run \`outbox migrate\` with a role that may create tables.`,
    );
  }
}

/** Catalogs are open to every role. */
const THERE = `
  /* outbox: look for version table */
  SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                  WHERE n.nspname = $1 AND c.relname = 'outbox_migrations') AS there`;

async function isThere(db: Database): Promise<boolean> {
  return (await db.query<{ there: boolean }>(THERE, [db.schema])).rows[0]?.there ?? false;
}
