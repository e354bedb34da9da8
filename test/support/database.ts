import { randomBytes } from 'node:crypto';
import { openDatabase, type Database } from '../../src/postgres/database';
import { eventually } from './eventually';
import { TEMPLATE_DATABASE, TEMPLATE_SCHEMA, testEnvironment } from './environment';

/** Longer than a machine stands still: a test's own look must not fail by it. */
const CONNECT_MS = 60_000;

export interface TestDatabase {
  readonly url: string;
  /** A schema name of its own, so that the relay's workflow id and task queue are its own too. */
  readonly schema: string;
  readonly db: Database;
  drop(): Promise<void>;
}

/** A database cloned from the migrated template, with its schema renamed. */
export async function cloneDatabase(poolSize = 4): Promise<TestDatabase> {
  const name = `t_${randomBytes(6).toString('hex')}`;
  return makeDatabase(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE_DATABASE}`, name, name, poolSize, async (db) => {
    await db.query(`ALTER SCHEMA ${TEMPLATE_SCHEMA} RENAME TO ${name}`);
  });
}

/** A database without any table, for tests of migrations. */
export async function emptyDatabase(schema = 'public', poolSize = 4): Promise<TestDatabase> {
  const name = `t_${randomBytes(6).toString('hex')}`;
  return makeDatabase(`CREATE DATABASE ${name}`, name, schema, poolSize, () => Promise.resolve());
}

async function makeDatabase(
  sql: string,
  name: string,
  schema: string,
  poolSize: number,
  prepare: (db: Database) => Promise<void>,
): Promise<TestDatabase> {
  await asAdmin(sql);
  const url = databaseUrl(name);
  const db = openDatabase({ url, schema, poolSize, connectionTimeoutMillis: CONNECT_MS });
  await prepare(db);
  return {
    url,
    schema,
    db,
    drop: async () => {
      await db.close();
      await asAdmin(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

async function asAdmin(sql: string): Promise<void> {
  const admin = openDatabase({ url: testEnvironment().postgresUrl, schema: 'public', poolSize: 1 });
  try {
    // The template may be in use by another file's clone for a moment.
    await eventually(() => admin.query(sql), 30_000, sql);
  } finally {
    await admin.close();
  }
}

function databaseUrl(name: string): string {
  const url = new URL(testEnvironment().postgresUrl);
  url.pathname = `/${name}`;
  return url.toString();
}
