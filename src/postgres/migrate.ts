import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { MigrationError } from '../errors';
import { checkVersion, refuseNewer } from './checkVersion';
import { binder, type Database } from './database';
import { appliedMigrations, codeOf, DIRECTORY, readMigrations, type Migration } from './migrations';

export interface MigrateResult {
  /** Names of the migrations that this call applied. */
  readonly applied: readonly string[];
  readonly version: number;
}

/** Waits between tries, in milliseconds. Clashes of several migrating processes are over within a moment. */
const RETRY_WAITS = [100, 200, 400, 800, 1_000];

/** Another process was in the way, or the server was not ready: worth another try. Nothing else is. */
const PASSING = new Set([
  '23505', '42P06', '42P07', '42710', '42701', // made by somebody else meanwhile
  '40P01', '40001', '55P03', // deadlock, serialization, lock time-out
  '57P01', '57P02', '57P03', '08000', '08001', '08003', '08006', // server restarting or connection lost
  'ECONNRESET', 'EPIPE', 'ETIMEDOUT',
]); // prettier-ignore

/**
 * Brings the schema to this build's version. Safe to call from any number of processes at once: they take turns on an
 * advisory lock, each migration is one transaction with the row that records it, and a clash is tried again five
 * times (100 ms to 1 s). Only an error that persists is thrown.
 *
 * @param warn told when the database is newer than this build, past no breaking migration
 * @throws MigrationError `newer-database` past a breaking migration; `failed` otherwise
 */
export async function migrate(
  db: Database,
  warn: (message: string) => void = () => undefined,
  directory = DIRECTORY,
): Promise<MigrateResult> {
  const migrations = readMigrations(directory);
  for (let tried = 0; ; tried++) {
    try {
      return await migrateOnce(db, migrations, warn);
    } catch (error) {
      if (error instanceof MigrationError) throw error;
      const wait = RETRY_WAITS[tried];
      if (wait === undefined || !PASSING.has(codeOf(error) ?? '')) {
        throw new MigrationError(
          'failed',
          `The schema ${db.schema} could not be migrated: ${(error as Error).message}`,
          {
            cause: error,
          },
        );
      }
      await sleep(wait);
    }
  }
}

async function migrateOnce(
  db: Database,
  migrations: readonly Migration[],
  warn: (message: string) => void,
): Promise<MigrateResult> {
  const bind = binder(db.schema);
  const client = await db.pool.connect();
  const applied: string[] = [];
  let broken: Error | undefined;
  const onError = (error: Error) => (broken = error);
  client.on('error', onError);
  try {
    for (;;) {
      await client.query('/* outbox: begin migration */ BEGIN');
      // One lock for the database: CREATE SCHEMA and CREATE TABLE IF NOT EXISTS clash with themselves when concurrent.
      await client.query(
        `/* outbox: lock migration */ SELECT pg_advisory_xact_lock(hashtext('temporal-outbox migrate'))`,
      );
      await ensureVersionTable(client, bind);
      const done = await appliedMigrations(client, bind);
      refuseNewer(done, migrations, db.schema, warn);
      const next = migrations.find((migration) => !done.some((row) => row.version === migration.version));
      if (!next) {
        await client.query('/* outbox: end migrations */ COMMIT');
        return { applied, version: Math.max(0, ...done.map((row) => row.version)) };
      }
      await client.query(bind(`/* outbox: migrate ${next.name} */ ${next.sql}`));
      await client.query(
        bind(
          `/* outbox: record migration */ INSERT INTO :schema.outbox_migrations (version, name, breaking) VALUES ($1, $2, $3)`,
        ),
        [next.version, next.name, next.breaking],
      );
      await client.query('/* outbox: commit migration */ COMMIT');
      applied.push(next.name);
    }
  } catch (error) {
    await client.query('/* outbox: roll back migration */ ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

async function ensureVersionTable(client: PoolClient, bind: (text: string) => string): Promise<void> {
  // Looked at first: CREATE … IF NOT EXISTS needs the privilege to create even where there is nothing to do.
  const { rows } = await client.query<{ schema: boolean; table: boolean }>(
    bind(
      `/* outbox: look for tables */ SELECT to_regnamespace($1) IS NOT NULL AS schema, to_regclass($2) IS NOT NULL AS table`,
    ),
    [bind(':schema'), bind(':schema.outbox_migrations')],
  );
  if (!rows[0]?.schema) await client.query(bind(`/* outbox: create schema */ CREATE SCHEMA IF NOT EXISTS :schema`));
  if (rows[0]?.table) return;
  await client.query(
    bind(`/* outbox: create version table */ CREATE TABLE :schema.outbox_migrations (
      version integer PRIMARY KEY, name text NOT NULL, breaking boolean NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT clock_timestamp())`),
  );
}

/** Migrates where privileges allow; else checks the version. */
export async function migrateOrCheck(
  db: Database,
  warn: (message: string) => void = () => undefined,
): Promise<MigrateResult | undefined> {
  try {
    return await migrate(db, warn);
  } catch (error) {
    if (error instanceof MigrationError && codeOf(error.cause) === '42501') {
      await checkVersion(db, warn);
      return undefined;
    }
    throw error;
  }
}
