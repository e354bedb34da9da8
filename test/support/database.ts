import { randomBytes } from 'node:crypto';
import { openDatabase, type Database } from '../../src/postgres/database';
import { roleStatements } from '../../src/postgres/roles';
import { eventually } from './eventually';
import { TEMPLATE_DATABASE, TEMPLATE_SCHEMA, TEST_ROLES, testEnvironment } from './environment';

/** Longer than a machine stands still: a test's own look must not fail by it. */
const CONNECT_MS = 60_000;

export interface TestDatabase {
  readonly url: string;
  /** A schema name of its own, so that the relay's workflow id and task queue are its own too. */
  readonly schema: string;
  /** As whoever runs workers: under roles, without any DDL. */
  readonly db: Database;
  /** As the owner of the tables; for a test that alters them. */
  readonly owner: Database;
  /** As whoever writes events: under roles, the application's. */
  readonly producerUrl: string;
  drop(): Promise<void>;
}

/**
 * Whether tests run as in production: producers, workers and verbs under the roles of `outbox migrate --roles`, with
 * exactly the grants that it prints. Test files that import `printedRoles` do; the others run as the owner.
 */
export function underRoles(): boolean {
  return process.env.OUTBOX_TEST_ROLES === 'on';
}

const producers = new WeakMap<Database, Database>();
const owners = new WeakMap<Database, Database>();

/** Who writes events where `db` is the worker's: under roles, somebody who can do nothing else. */
export function producerOf(db: Database): Database {
  return producers.get(db) ?? db;
}

/** Who arranges what no worker may: other tables, empty ones, and rows in states that only time or another build makes. */
export function ownerOf(db: Database): Database {
  return owners.get(db) ?? db;
}

/** A database cloned from the migrated template, with its schema renamed. */
export async function cloneDatabase(poolSize = 4): Promise<TestDatabase> {
  const name = `t_${randomBytes(6).toString('hex')}`;
  return makeDatabase(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE_DATABASE}`, name, name, poolSize, async (db) => {
    await db.query(`ALTER SCHEMA ${TEMPLATE_SCHEMA} RENAME TO ${name}`);
    if (!underRoles()) return false;
    for (const statement of roleStatements(name, TEST_ROLES)) await db.query(statement);
    // Tables of the application, which are no business of the printed grants: its handlers write to them.
    for (const kind of ['TABLES', 'SEQUENCES'])
      await db.query(`ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON ${kind} TO ${TEST_ROLES.worker}`);
    return true;
  });
}

/** A database without any table, for tests of migrations. */
export async function emptyDatabase(schema = 'public', poolSize = 4): Promise<TestDatabase> {
  const name = `t_${randomBytes(6).toString('hex')}`;
  return makeDatabase(`CREATE DATABASE ${name}`, name, schema, poolSize, () => Promise.resolve(false));
}

async function makeDatabase(
  sql: string,
  name: string,
  schema: string,
  poolSize: number,
  /** @returns whether workers and producers have roles there */
  prepare: (db: Database) => Promise<boolean>,
): Promise<TestDatabase> {
  await asAdmin(sql);
  const ownerUrl = databaseUrl(name);
  const open = (url: string) => openDatabase({ url, schema, poolSize, connectionTimeoutMillis: CONNECT_MS });
  const owner = open(ownerUrl);
  const roles = await prepare(owner);
  const url = roles ? asRole(ownerUrl, TEST_ROLES.worker) : ownerUrl;
  const db = roles ? open(url) : owner;
  const opened = new Set([owner, db]);
  if (roles) {
    const producer = open(asRole(ownerUrl, TEST_ROLES.app));
    producers.set(db, producer);
    owners.set(db, owner);
    opened.add(producer);
  }
  return {
    url,
    schema,
    db,
    owner,
    producerUrl: roles ? asRole(ownerUrl, TEST_ROLES.app) : ownerUrl,
    drop: async () => {
      await Promise.all([...opened].map((each) => each.close()));
      await asAdmin(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** The roles have the password of the administrator, if any. */
function asRole(url: string, role: string): string {
  const parsed = new URL(url);
  parsed.username = role;
  return parsed.toString();
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
