import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { enqueueEvents } from '../../src/outbox/enqueue';
import { openDatabase, type Database } from '../../src/postgres/database';
import { lackingPrivileges } from '../../src/postgres/roles';
import { cloneDatabase, emptyDatabase, producerOf, type TestDatabase } from '../support/database';
import { TEST_ROLES } from '../support/environment';
import { event } from '../support/events';
import { ROOT } from '../support/markdown';
import '../support/printedRoles';
import { runCli } from '../support/runCli';

const NAMES = [
  '--app-role',
  TEST_ROLES.app,
  '--worker-role',
  TEST_ROLES.worker,
  '--operator-role',
  TEST_ROLES.operator,
];
const DENIED = /permission denied/;

describe('the grants that `outbox migrate --roles` prints', () => {
  let database: TestDatabase;
  const as = {} as Record<keyof typeof TEST_ROLES, Database>;
  const urlOf = (role: keyof typeof TEST_ROLES) => {
    const url = new URL(database.url);
    url.username = TEST_ROLES[role];
    return url.toString();
  };
  const env = (role: keyof typeof TEST_ROLES) => ({ DATABASE_URL: urlOf(role), OUTBOX_SCHEMA: 'shop' });

  beforeAll(async () => {
    database = await emptyDatabase('shop');
    const migrated = await runCli(['migrate'], { DATABASE_URL: database.url, OUTBOX_SCHEMA: 'shop' });
    expect(migrated.code).toBe(0);
    const { stdout } = await runCli(['migrate', '--roles', ...NAMES], { OUTBOX_SCHEMA: 'shop' });
    // As psql does it: the script, as it is.
    await database.owner.pool.query(stdout);
    for (const role of Object.keys(TEST_ROLES) as (keyof typeof TEST_ROLES)[]) {
      as[role] = openDatabase({ url: urlOf(role), schema: 'shop', poolSize: 1 });
    }
  });
  afterAll(async () => {
    await Promise.all(Object.values(as).map((db) => db.close()));
    await database?.drop();
  });

  const EVERY_TABLE = `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'shop' ORDER BY 1`;
  const tables = async () => (await database.owner.query<{ name: string }>(EVERY_TABLE)).rows.map(({ name }) => name);

  it('cover every table that the migrations make', async () => {
    const { rows } = await database.owner.query<{ name: string }>(
      `SELECT DISTINCT table_name AS name FROM information_schema.table_privileges WHERE grantee = $1 ORDER BY 1`,
      [TEST_ROLES.worker],
    );
    expect(rows.map(({ name }) => name)).toEqual(await tables());
    expect(await lackingPrivileges(as.worker, 'worker')).toEqual([]);
    expect(await lackingPrivileges(as.worker, 'app', TEST_ROLES.app)).toEqual([]);
    expect(await lackingPrivileges(as.worker, 'worker', TEST_ROLES.app)).toContainEqual({
      table: 'event_queue',
      privilege: 'DELETE',
    });
  });

  it('are in force in the suites that decision 25 names, and in no other', async () => {
    const folder = join(ROOT, 'test', 'integration');
    const importing = readdirSync(folder).filter((file) => readFileSync(join(folder, file), 'utf8').includes(`'../support/printedRoles'`)); // prettier-ignore
    const decision = readFileSync(join(ROOT, 'docs', 'adr', '0025-security.md'), 'utf8');
    const named = /under the worker role with[^:]*:(.*?)All other suites/s.exec(decision)?.[1] ?? '';
    expect([...named.matchAll(/`(\w+)`/g)].map(([, name]) => `${name}.test.ts`).sort()).toEqual(importing.sort());

    const cloned = await cloneDatabase(1);
    try {
      for (const [db, role] of [
        [cloned.db, TEST_ROLES.worker],
        [producerOf(cloned.db), TEST_ROLES.app],
      ] as const) {
        const { rows } = await db.query(
          `SELECT current_user AS who, rolsuper AS super, (SELECT count(*)::integer FROM pg_tables WHERE tableowner = current_user) AS tables
             FROM pg_roles WHERE rolname = current_user`,
        );
        expect(rows).toEqual([{ who: role, super: false, tables: 0 }]);
      }
    } finally {
      await cloned.drop();
    }
  });

  it('let the application write events, with all that they may have, and wake the relay', async () => {
    const all = { headers: { a: '1' }, version: 2, correlationId: 'c', causationId: 'b', availableAt: new Date() };
    await enqueueEvents(as.app.pool, [event(all), event({ occurredAt: new Date() })], { schema: 'shop' });
    const { rows } = await database.owner.query(`SELECT FROM :schema.event_queue`);
    expect(rows).toHaveLength(2);
  });

  it('let the application read, change, delete and empty nothing, and set no column that is not its own', async () => {
    for (const table of await tables()) {
      for (const statement of [`SELECT 1 FROM ${table}`, `DELETE FROM ${table}`, `TRUNCATE ${table}`]) {
        await expect(as.app.query(statement.replace(table, `:schema.${table}`))).rejects.toThrow(DENIED);
      }
    }
    const forged = [
      `INSERT INTO :schema.event_queue (event_type, aggregate_type, aggregate_id, payload, status, published_at) VALUES ('T', 'a', 'a', '1', 'done', now())`,
      `INSERT INTO :schema.event_queue (id, event_type, aggregate_type, aggregate_id, payload) VALUES (1, 'T', 'a', 'a', '1')`,
      `INSERT INTO :schema.event_queue (event_type, aggregate_type, aggregate_id, payload) VALUES ('T', 'a', 'a', '1') RETURNING id`,
      `UPDATE :schema.event_queue SET payload = '1'`,
      `INSERT INTO :schema.processed_events (event_id, handler, status) VALUES (gen_random_uuid(), 'h', 'in_progress')`,
      `INSERT INTO :schema.deliveries (event_id, handler, source, event_type, aggregate_type, aggregate_id, next_at) VALUES (gen_random_uuid(), 'h', 'outbox', 'T', 'a', 'a', now())`,
      `UPDATE :schema.relay_fence SET epoch = 0`,
      `UPDATE :schema.outbox_installation SET handlers = '{}'`,
    ];
    for (const statement of forged) await expect(as.app.query(statement)).rejects.toThrow(DENIED);
  });

  it.each(['app', 'worker', 'operator'] as const)('let the %s role create, alter and drop nothing', async (role) => {
    const statements = [
      `CREATE TABLE :schema.x (a int)`,
      `CREATE SCHEMA x`,
      `ALTER TABLE :schema.event_queue ADD COLUMN x int`,
      `CREATE INDEX x ON :schema.event_queue (id)`,
      `DROP TABLE :schema.processed_events`,
      `TRUNCATE :schema.processed_events`,
      `CREATE FUNCTION :schema.x() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
      `INSERT INTO :schema.outbox_migrations (version, name, breaking) VALUES (9999, 'x', true)`,
    ];
    for (const statement of statements)
      await expect(as[role].query(statement)).rejects.toThrow(/permission denied|must be owner/);
  });

  it('let an operator look at everything but bodies, and change nothing', async () => {
    const [eventId] = await enqueueEvents(as.app.pool, [event({ payload: { secret: 'S3CRET' } })], { schema: 'shop' });
    for (const args of [['show', eventId ?? ''], ['dead', 'list'], ['handlers'], ['migrate', '--check']]) {
      const { code, stderr } = await runCli(args, env('operator'));
      expect([args.join(' '), code, stderr]).toEqual([args.join(' '), 0, expect.any(String)]);
    }
    const status = await runCli(['status', '--json'], env('operator'));
    expect((JSON.parse(status.stdout) as { database: object }).database).toMatchObject({ available: true, pending: 3 });
    const refused = [
      `SELECT payload FROM :schema.event_queue`,
      `SELECT * FROM :schema.event_queue`,
      `SELECT body FROM :schema.deliveries`,
      `SELECT record FROM :schema.deliveries`,
      `UPDATE :schema.event_queue SET status = 'done'`,
      `DELETE FROM :schema.processed_events`,
    ];
    for (const statement of refused) await expect(as.operator.query(statement)).rejects.toThrow(DENIED);
  });

  it('can be given again, and take back what was granted beside them', async () => {
    await database.owner.query(`GRANT SELECT, DELETE ON :schema.event_queue TO ${TEST_ROLES.app}`);
    const { stdout } = await runCli(['migrate', '--roles', ...NAMES], { OUTBOX_SCHEMA: 'shop' });
    await database.owner.pool.query(stdout);
    await expect(as.app.query(`SELECT FROM :schema.event_queue`)).rejects.toThrow(DENIED);
    await enqueueEvents(as.app.pool, [event()], { schema: 'shop' });
  });

  it('are the same statements in --json, and need no server', async () => {
    const { stdout, code } = await runCli(['migrate', '--roles', '--json', '--worker-role', 'a "b"; --'], {
      OUTBOX_SCHEMA: 'shop',
    });
    expect(code).toBe(0);
    const { roles, statements } = JSON.parse(stdout) as { roles: object; statements: string[] };
    expect(roles).toEqual({ app: 'outbox_app', worker: 'a "b"; --', operator: 'outbox_operator' });
    expect(statements).toContain(`GRANT SELECT, UPDATE ON "shop".relay_fence TO "a ""b""; --"`);
  });

  it.each([
    [['--app-role', 'public'], /keeps it for itself/],
    [['--app-role', 'none'], /keeps it for itself/],
    [['--worker-role', 'x\n; DROP TABLE y'], /without control characters/],
    [['--worker-role', ''], /1 to 63 bytes/],
    [['--app-role', 'same', '--worker-role', 'same'], /must be three/],
  ])('%j is refused, since it would mean something else', async (args, says) => {
    const { code, stdout, stderr } = await runCli(['migrate', '--roles', ...args]);
    expect([code === 0, stdout]).toEqual([false, '']);
    expect(stderr).toMatch(says);
  });

  it('a worker without them does not start, and says what it lacks and which command prints it', async () => {
    await database.owner.query(`REVOKE DELETE ON :schema.deliveries FROM ${TEST_ROLES.worker}`);
    await database.owner.query(`REVOKE INSERT ON :schema.event_queue FROM ${TEST_ROLES.worker}`);
    const worker = await runCli(['worker'], { ...env('worker'), OUTBOX_MIGRATE: 'off' });
    expect(worker.code).toBe(1);
    expect(worker.stderr).toMatch(
      /lacks DELETE on deliveries, INSERT on event_queue in schema shop: .*`outbox migrate --roles`/,
    );
  });
});
