import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { Client } from 'pg';
import { loadConfig } from '../../src/config';
import { claimDue } from '../../src/outbox/claim';
import { listDead } from '../../src/deadLetters/list';
import { reemit } from '../../src/deadLetters/reemit';
import { reemitAll } from '../../src/deadLetters/reemitAll';
import { claimLedger } from '../../src/ledger/claim';
import { finishLedger } from '../../src/ledger/finish';
import { drainOnce } from '../../src/outbox/drain';
import { enqueueEvents } from '../../src/outbox/enqueue';
import { bumpFence, reclaimLeases } from '../../src/outbox/fence';
import { bury } from '../../src/outbox/settle';
import { databaseOver, openDatabase, type Database } from '../../src/postgres/database';
import { checkVersion } from '../../src/postgres/checkVersion';
import { migrate, migrateOrCheck } from '../../src/postgres/migrate';
import { quotedSchema } from '../../src/postgres/schemaName';
import { policyOf } from '../../src/retention/policy';
import { prune } from '../../src/retention/prune';
import { insertDoneLedger } from '../support/aged';
import { cloneDatabase, emptyDatabase, type TestDatabase } from '../support/database';
import { event } from '../support/events';
import { eventually } from '../support/eventually';
import { runCli } from '../support/runCli';

const LONG = process.env.OUTBOX_TEST_LONG === 'on';
/** Shortened from 20 rounds and 100,000 rows, the numbers of case C44. */
const ROUNDS = LONG ? 20 : 3;
const LEGACY_ROWS = LONG ? 100_000 : 5_000;
const PROCESSES = 8;

const MIGRATIONS = join(__dirname, '..', '..', 'migrations');
const NAMES = readdirSync(MIGRATIONS).filter((file) => file.endsWith('.sql')).sort().map((file) => file.slice(0, -4)); // prettier-ignore

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function newDatabase(schema?: string): Promise<TestDatabase> {
  const database = await emptyDatabase(schema);
  closers.push(() => database.drop());
  return database;
}

/** Everything that makes a schema what it is, in a form that two databases can be compared by. */
async function shapeOf(db: Database): Promise<string[]> {
  const { rows } = await db.query<{ line: string }>(
    `SELECT format('column %s.%s %s %s null=%s default=%s generated=%s identity=%s', table_name, column_name, data_type,
                   datetime_precision, is_nullable, column_default, generation_expression, identity_generation) AS line
       FROM information_schema.columns WHERE table_schema = $1
     UNION ALL
     SELECT format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
      WHERE connamespace = to_regnamespace(quote_ident($1)) AND contype <> 'n'
     UNION ALL
     SELECT format('index %s', indexdef) FROM pg_indexes WHERE schemaname = $1
     UNION ALL
     SELECT format('relation %s %s %s', relname, relkind, reloptions) FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1))
     UNION ALL
     SELECT format('trigger %s', tgname) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
      WHERE relnamespace = to_regnamespace(quote_ident($1)) AND NOT tgisinternal
     ORDER BY 1`,
    [db.schema],
  );
  return rows.map(({ line }) => line);
}

async function versionsOf(db: Database): Promise<{ version: number; name: string }[]> {
  const { rows } = await db.query<{ version: number; name: string }>(
    'SELECT version, name FROM :schema.outbox_migrations ORDER BY version',
  );
  return rows;
}

const ALL_VERSIONS = NAMES.map((name) => ({ version: Number(name.slice(0, 4)), name }));

/** A directory that holds the first migrations only, as an older build had them. */
function olderBuild(count: number): string {
  const directory = mkdtempSync(join(tmpdir(), 'outbox-migrations-'));
  closers.push(() => rmSync(directory, { recursive: true }));
  for (const name of NAMES.slice(0, count)) copyFileSync(join(MIGRATIONS, `${name}.sql`), join(directory, `${name}.sql`));
  return directory;
} // prettier-ignore

/** Connects, says so, waits for a line, and migrates; for as many databases as it is told. */
const MIGRATING_PROCESS = `
  const { openDatabase } = require('./dist/postgres/database.js');
  const { migrate } = require('./dist/postgres/migrate.js');
  let db;
  require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
    try {
      if (line !== 'go') {
        db = openDatabase({ ...JSON.parse(line), poolSize: 1 });
        await db.query('SELECT 1');
        console.log('ready');
        return;
      }
      const { version } = await migrate(db);
      await db.close();
      console.log('version ' + version);
    } catch (error) {
      console.log('failed: ' + error.message);
    }
  });`;

class MigratingProcess {
  private readonly child: ChildProcess;
  private readonly answers: AsyncIterator<string>;

  constructor() {
    this.child = spawn(process.execPath, ['-e', MIGRATING_PROCESS], {
      cwd: join(__dirname, '..', '..'),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines: Interface = createInterface({ input: this.child.stdout! });
    this.answers = lines[Symbol.asyncIterator]();
  }

  async ask(line: string): Promise<string> {
    this.child.stdin!.write(`${line}\n`);
    const { value, done } = await this.answers.next();
    return done ? 'ended' : value;
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}

describe('many processes migrating at the same moment', () => {
  let processes: MigratingProcess[];
  beforeAll(() => {
    processes = Array.from({ length: PROCESSES }, () => new MigratingProcess());
  });
  afterAll(() => processes.forEach((one) => one.kill()));

  async function migrateAtOnce({ url, schema }: TestDatabase): Promise<string[]> {
    const target = JSON.stringify({ url, schema });
    expect(await Promise.all(processes.map((one) => one.ask(target)))).toEqual(Array(PROCESSES).fill('ready'));
    return Promise.all(processes.map((one) => one.ask('go')));
  }

  it('all succeed on an empty database, as one alone would (C44)', async () => {
    const alone = await newDatabase('outbox');
    expect(await migrate(alone.db)).toEqual({ applied: NAMES, version: NAMES.length });
    const shape = await shapeOf(alone.db);
    expect(shape.length).toBeGreaterThan(40);
    for (let round = 0; round < ROUNDS; round++) {
      const together = await newDatabase('outbox');
      expect(await migrateAtOnce(together)).toEqual(Array(PROCESSES).fill(`version ${NAMES.length}`));
      expect(await versionsOf(together.db)).toEqual(ALL_VERSIONS);
      expect(await shapeOf(together.db)).toEqual(shape);
      const { rows } = await together.db.query(
        `SELECT (SELECT count(*)::integer FROM :schema.relay_fence) AS fences,
                (SELECT count(*)::integer FROM :schema.outbox_installation) AS installations`,
      );
      expect(rows).toEqual([{ fences: 1, installations: 1 }]);
    }
  }, 300_000);

  it('all succeed on the legacy table, and each of its rows is kept and gets an id of its own (C44)', async () => {
    const database = await newDatabase('outbox');
    const { db } = database;
    await migrate(db, undefined, olderBuild(1));
    expect(await versionsOf(db)).toEqual(ALL_VERSIONS.slice(0, 1));
    await db.query(
      `INSERT INTO :schema.event_queue (event_type, aggregate_type, aggregate_id, payload, status, published_at, failed_at)
       SELECT 'T', 't', n::text, jsonb_build_object('n', n), CASE n % 4 WHEN 0 THEN 'pending' WHEN 1 THEN 'done' WHEN 2 THEN 'processing' ELSE 'dead_lettered' END,
              CASE WHEN n % 8 = 1 THEN now() END, CASE WHEN n % 8 = 3 THEN now() END
         FROM generate_series(1, $1::integer) AS n`,
      [LEGACY_ROWS],
    );
    const content = `SELECT id, event_type, aggregate_type, aggregate_id, payload, version, occurred_at, available_at,
                            status, attempts FROM :schema.event_queue`;
    const digest = async () =>
      (await db.query<{ md5: string }>(`SELECT md5(string_agg(q::text, ',' ORDER BY id)) AS md5 FROM (${content}) q`)).rows;
    const before = await digest();
    expect(await migrateAtOnce(database)).toEqual(Array(PROCESSES).fill(`version ${NAMES.length}`));
    expect(await versionsOf(db)).toEqual(ALL_VERSIONS);
    expect(await digest()).toEqual(before);
    const { rows } = await db.query(
      `SELECT count(*)::integer AS rows, count(DISTINCT event_id)::integer AS ids FROM :schema.event_queue`,
    );
    expect(rows).toEqual([{ rows: LEGACY_ROWS, ids: LEGACY_ROWS }]);
    const fresh = await newDatabase('outbox');
    await migrate(fresh.db);
    expect(await shapeOf(db)).toEqual(await shapeOf(fresh.db));
  }, 300_000); // prettier-ignore
});

describe('an upgrade', () => {
  it('takes over a table that a hand-written poller made, without any record of migrations', async () => {
    const { db } = await newDatabase();
    await db.query(
      `CREATE TABLE event_queue (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, event_type text NOT NULL,
         aggregate_type text NOT NULL, aggregate_id text NOT NULL, company_id uuid, org_unit_id uuid, payload jsonb NOT NULL,
         version integer NOT NULL DEFAULT 1, correlation_id text, causation_id text,
         occurred_at timestamptz NOT NULL DEFAULT now(), available_at timestamptz NOT NULL DEFAULT now(),
         status text NOT NULL DEFAULT 'pending', attempts integer NOT NULL DEFAULT 0,
         published_at timestamptz, failed_at timestamptz, failure_reason text)`,
    );
    const statuses = ['pending', 'processing', 'retrying', 'deferred', 'done', 'dead_lettered'];
    await db.query(
      `INSERT INTO event_queue (event_type, aggregate_type, aggregate_id, payload, status, attempts)
       SELECT 'T', 't', status, '1', status, 2 FROM unnest($1::text[]) AS status`,
      [statuses],
    );
    await migrate(db);
    const token = await bumpFence(db);
    // What was being processed when the poller stopped has no time of a claim, and is free.
    await reclaimLeases(db, 600_000, []);
    const claimed = await claimDue(db, token, { rows: 10, bytes: 1_000 });
    expect(claimed.events.map(({ aggregateId }) => aggregateId)).toEqual(statuses.slice(0, 4));
    const { rows } = await db.query('SELECT status FROM event_queue WHERE id > 4 ORDER BY id');
    expect(rows).toEqual([{ status: 'done' }, { status: 'dead_lettered' }]);
    expect(await reemitAll(db.pool)).toEqual({ revived: 1 });
  });

  it('takes over a table that had event ids and claim times already, and keeps those ids', async () => {
    const { db } = await newDatabase();
    await migrate(db, undefined, olderBuild(1));
    await db.query(`ALTER TABLE event_queue ADD COLUMN event_id uuid, ADD COLUMN claimed_at timestamptz`);
    const { rows: before } = await db.query<{ event_id: string }>(
      `INSERT INTO event_queue (event_type, aggregate_type, aggregate_id, payload, status, event_id, claimed_at)
       SELECT 'T', 't', 'a', '1', status, gen_random_uuid(), now()
         FROM unnest(ARRAY['pending', 'processing', 'done', 'dead_lettered']) AS status
       RETURNING event_id`,
    );
    await db.query(`INSERT INTO event_queue (event_type, aggregate_type, aggregate_id, payload) VALUES ('T', 't', 'a', '1')`);
    await migrate(db);
    const { rows } = await db.query<{ event_id: string; claimed: boolean; status: string }>(
      'SELECT event_id, claimed_at IS NOT NULL AS claimed, status FROM event_queue ORDER BY id',
    );
    expect(rows.slice(0, 4).map(({ event_id }) => event_id)).toEqual(before.map(({ event_id }) => event_id));
    expect(rows[4]?.event_id).toEqual(expect.any(String));
    expect(rows.map(({ claimed, status }) => [status, claimed])).toEqual([
      ['pending', false],
      ['processing', true],
      ['done', false],
      ['dead_lettered', false],
      ['pending', false],
    ]);
  }); // prettier-ignore

  it('is not done twice: a second run applies nothing', async () => {
    const { db } = await newDatabase();
    expect((await migrate(db)).applied).toEqual(NAMES);
    expect(await migrate(db)).toEqual({ applied: [], version: NAMES.length });
  });

  it('brings the settings by which autovacuum keeps up with the tables that turn over', async () => {
    const { db } = await newDatabase();
    await migrate(db);
    const { rows } = await db.query<{ name: string; settings: string[] }>(
      `SELECT relname AS name, reloptions AS settings FROM pg_class
        WHERE relnamespace = to_regnamespace(quote_ident($1)) AND reloptions IS NOT NULL`,
      [db.schema],
    );
    const settings = Object.fromEntries(rows.map(({ name, settings }) => [name, new Set(settings)]));
    // By rows changed and not by a fifth of the table, also where rows are only inserted or never looked at again.
    expect(settings).toEqual({
      event_queue: new Set([
        ...['autovacuum_vacuum_scale_factor=0.01', 'autovacuum_vacuum_threshold=5000'],
        ...['autovacuum_vacuum_insert_scale_factor=0.05', 'autovacuum_analyze_scale_factor=0.05'],
        'autovacuum_vacuum_cost_delay=1',
      ]),
      processed_events: new Set([
        ...['autovacuum_vacuum_scale_factor=0.01', 'autovacuum_vacuum_threshold=5000'],
        ...['autovacuum_vacuum_insert_scale_factor=0.05', 'autovacuum_analyze_scale_factor=0.02'],
        'autovacuum_vacuum_cost_delay=1',
      ]),
      deliveries: new Set([
        ...['autovacuum_vacuum_scale_factor=0.05', 'autovacuum_vacuum_threshold=500'],
        ...['autovacuum_analyze_scale_factor=0.05', 'autovacuum_vacuum_cost_delay=1'],
      ]),
    });
  });

  it('leaves nothing on the connection that it borrowed', async () => {
    const { url } = await newDatabase();
    const one = openDatabase({ url, schema: 'public', poolSize: 1 });
    closers.push(() => one.close());
    const listeners = async () => {
      const client = await one.pool.connect();
      const count = client.listenerCount('error');
      client.release();
      return count;
    };
    const before = await listeners();
    await migrate(one);
    await migrate(one);
    expect(await listeners()).toBe(before);
  });
});

describe('a database that a newer build has migrated', () => {
  const madeNewer = async (breaking: boolean) => {
    const database = await cloneDatabase();
    closers.push(() => database.drop());
    await database.db.query(
      `INSERT INTO :schema.outbox_migrations (version, name, breaking) VALUES (9998, '9998_small', false), (9999, '9999_big', $1)`,
      [breaking],
    );
    return database.db;
  };

  it.each([
    ['migrate', migrate],
    ['checkVersion', checkVersion],
    ['migrateOrCheck', migrateOrCheck],
  ])('is refused by %s past a breaking migration, which is named', async (_name, run) => {
    const db = await madeNewer(true);
    await expect(run(db)).rejects.toMatchObject({
      name: 'MigrationError',
      kind: 'newer-database',
      message: expect.stringMatching(/newer build.*9999_big/) as string,
    });
    expect(await versionsOf(db)).toHaveLength(NAMES.length + 2);
  });

  it.each([
    ['migrate', migrate],
    ['checkVersion', checkVersion],
    ['migrateOrCheck', migrateOrCheck],
  ])('is used by %s otherwise, with one warning that names what is newer', async (_name, run) => {
    const db = await madeNewer(false);
    const warnings: string[] = [];
    await run(db, (message) => warnings.push(message));
    expect(warnings).toEqual([expect.stringMatching(/9998_small, 9999_big/)]);
  });
});

describe('a role that may not create tables', () => {
  async function asLimitedRole(database: TestDatabase, grant: boolean): Promise<Database> {
    const role = `limited_${randomBytes(6).toString('hex')}`;
    const { db } = database;
    const schema = quotedSchema(database.schema);
    await db.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x' NOSUPERUSER`);
    // Registered before the database's own closer, so run after it: a role that owns nothing can be dropped.
    closers.unshift(async () => {
      const admin = openDatabase({ url: database.url.replace(/\/[^/]*$/, '/postgres'), schema: 'public', poolSize: 1 });
      await admin.query(`DROP ROLE ${role}`);
      await admin.close();
    });
    await db.query(`REVOKE ALL ON SCHEMA public FROM PUBLIC`);
    if (grant) {
      await db.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
      await db.query(`GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
    }
    const url = new URL(database.url);
    url.username = role;
    url.password = 'x';
    const limited = openDatabase({ url: url.toString(), schema: database.schema, poolSize: 1 });
    closers.push(() => limited.close());
    return limited;
  }

  it('starts on a migrated schema, and can use it', async () => {
    const database = await cloneDatabase();
    closers.push(() => database.drop());
    const limited = await asLimitedRole(database, true);
    await expect(migrateOrCheck(limited)).resolves.not.toThrow();
    await expect(checkVersion(limited)).resolves.toBeUndefined();
    const [id] = await enqueueEvents(limited.pool, [event()], { schema: database.schema });
    const claimed = await claimDue(limited, await bumpFence(limited), { rows: 1, bytes: 1_000 });
    expect(claimed.events).toMatchObject([{ eventId: id }]);
  });

  it.each(['public', 'not_there'])('is given the command on an unmigrated database, in the schema %s', async (schema) => {
    const limited = await asLimitedRole(await newDatabase(schema), false);
    for (const run of [migrateOrCheck, checkVersion]) {
      await expect(run(limited)).rejects.toMatchObject({
        kind: 'outdated-database',
        message: expect.stringMatching(/lacks 0001_event_queue.*run `outbox migrate`/) as string,
      });
    }
  }); // prettier-ignore

  it('is told of the grants that it lacks on a migrated database, and not to migrate', async () => {
    const database = await cloneDatabase();
    closers.push(() => database.drop());
    const limited = await asLimitedRole(database, false);
    for (const run of [migrateOrCheck, checkVersion]) {
      await expect(run(limited)).rejects.toMatchObject({
        kind: 'unreadable',
        message: expect.stringMatching(/may not read the tables of schema .*`outbox migrate --roles`/) as string,
      });
    }
  });

  it('is given the command on a schema of an older build, which it may read', async () => {
    const database = await newDatabase('outbox');
    await migrate(database.db, undefined, olderBuild(2));
    const limited = await asLimitedRole(database, true);
    for (const run of [migrateOrCheck, checkVersion]) {
      await expect(run(limited)).rejects.toMatchObject({
        kind: 'outdated-database',
        message: expect.stringContaining(`lacks ${NAMES.slice(2).join(', ')}: run \`outbox migrate\``) as string,
      });
    }
    expect(await versionsOf(database.db)).toEqual(ALL_VERSIONS.slice(0, 2));
  });
});

describe('a migration that is interrupted', () => {
  /** Version 1 with its table held by another transaction, so that the next migration stops in its middle. */
  async function heldUp() {
    const database = await newDatabase('outbox');
    await migrate(database.db, undefined, olderBuild(1));
    const holder = new Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE outbox.event_queue IN ACCESS SHARE MODE');
    const { rows } = await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const waitingPid = () =>
      eventually(async () => {
        const found = await database.db.query<{ pid: number }>(
          'SELECT pid FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))',
          [rows[0]!.pid],
        );
        return found.rows[0]?.pid;
      });
    const letGo = async () => {
      await holder.query('COMMIT');
      await holder.end();
    };
    return { database, waitingPid, letGo };
  }

  it('by the death of its process leaves the version before, and the next run completes it', async () => {
    const { database, waitingPid, letGo } = await heldUp();
    const child = new MigratingProcess();
    expect(await child.ask(JSON.stringify({ url: database.url, schema: 'outbox' }))).toBe('ready');
    const ended = child.ask('go');
    await waitingPid();
    child.kill();
    expect(await ended).toBe('ended');
    await letGo();
    // The killed one's backend gives up its transaction, and with it the turn that the next waits for.
    expect(await versionsOf(database.db)).toEqual(ALL_VERSIONS.slice(0, 1));
    expect(await migrate(database.db)).toEqual({ applied: NAMES.slice(1), version: NAMES.length });
  });

  it('by the death of its backend is tried again by itself', async () => {
    const { database, waitingPid, letGo } = await heldUp();
    const migrating = migrate(database.db);
    const first = await waitingPid();
    await database.db.query('SELECT pg_terminate_backend($1)', [first]);
    await eventually(async () => (await waitingPid()) !== first);
    await letGo();
    expect(await migrating).toEqual({ applied: NAMES.slice(1), version: NAMES.length });
    expect(await versionsOf(database.db)).toEqual(ALL_VERSIONS);
  });

  it('by an error that persists is reported, and nothing of it is left', async () => {
    const { db } = await newDatabase();
    await migrate(db, undefined, olderBuild(1));
    await db.query(
      `INSERT INTO event_queue (event_type, aggregate_type, aggregate_id, payload, status) VALUES ('T', 't', 'a', '1', 'sent')`,
    );
    await expect(migrate(db)).rejects.toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/schema public could not be migrated: .*event_queue_status/) as string,
    });
    expect(await versionsOf(db)).toEqual(ALL_VERSIONS.slice(0, 2));
    await db.query(`UPDATE event_queue SET status = 'done'`);
    expect((await migrate(db)).applied).toEqual(NAMES.slice(2));
  });
});

describe('a migration and the row that records it', () => {
  it('are one transaction: without the row nothing is changed', async () => {
    const { db } = await newDatabase();
    await migrate(db, undefined, olderBuild(1));
    await db.query('ALTER TABLE outbox_migrations ADD CONSTRAINT one_only CHECK (version = 1)');
    await expect(migrate(db)).rejects.toMatchObject({ kind: 'failed' });
    const { rows } = await db.query(
      `SELECT FROM information_schema.columns WHERE table_name = 'event_queue' AND column_name = 'event_id'`,
    );
    expect(rows).toEqual([]);
    await db.query('ALTER TABLE outbox_migrations DROP CONSTRAINT one_only');
    expect((await migrate(db)).applied).toEqual(NAMES.slice(1));
  });
});

describe('odd schema names', () => {
  const REFUSED = [
    'my-schema',
    'Foo',
    '1x',
    'a"b',
    "o'brien",
    'a$$b',
    'x.job',
    'é',
    'x'.repeat(64),
    'x'.repeat(70),
    '',
    ' ',
    'foo ',
    'foo\n',
    'x"; drop table t; --',
    ':schema',
  ];

  it.each(REFUSED)('%j is refused before any SQL, and without a connection (C46)', async (schema) => {
    const connect = jest.spyOn(Client.prototype, 'connect');
    const queries: unknown[] = [];
    const tx = { query: (text: string) => (queries.push(text), Promise.resolve({ rows: [] })) };
    const refusal = /the schema name .* is refused: use 1 to 63 characters/;
    try {
      expect(() => openDatabase({ url: 'postgres://nobody@127.0.0.1:1/none', schema })).toThrow(refusal);
      expect(() => databaseOver(tx as never, schema)).toThrow(refusal);
      expect(() => loadConfig({ OUTBOX_SCHEMA: schema })).toThrow(refusal);
      await expect(enqueueEvents(tx, [event()], { schema })).rejects.toThrow(refusal);
      await expect(listDead(tx, { schema })).rejects.toThrow(refusal);
      await expect(reemit(tx, ['00000000-0000-4000-8000-000000000001'], { schema })).rejects.toThrow(refusal);
      await expect(reemitAll(tx, {}, { schema })).rejects.toThrow(refusal);
      await expect(
        drainOnce(tx as never, { publish: () => Promise.resolve(), schema }),
      ).rejects.toThrow(refusal); // prettier-ignore
      expect(queries).toEqual([]);
      expect(connect).not.toHaveBeenCalled();
    } finally {
      connect.mockRestore();
    }
  });

  it.each(['', 'Foo', 'x"; drop table t; --'])('%j is refused by the command, which ends with an error (C46)', async (schema) => {
    const { code, stderr } = await runCli(['migrate'], { OUTBOX_SCHEMA: schema });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/OUTBOX_SCHEMA: the schema name .* is refused/);
  }); // prettier-ignore

  it.each(['user', 'foo', '_', 'select', 'public', `x${'y'.repeat(62)}`])('%s works fully (C46)', async (schema) => {
    const { db } = await newDatabase(schema);
    await db.query('CREATE TABLE public.t (x integer)');
    await migrate(db);
    await checkVersion(db);
    const options = { schema };
    const [a, b] = await enqueueEvents(db.pool, [event(), event()], options);
    const token = await bumpFence(db);
    const claimed = await claimDue(db, token, { rows: 10, bytes: 10_000 });
    expect(claimed.events.map(({ eventId }) => eventId)).toEqual([a, b]);
    expect(await bury(db, token, claimed.events.map(({ id }) => id), 'no')).toBe(2); // prettier-ignore
    expect(await listDead(db.pool, options)).toHaveLength(2);
    expect(await reemit(db.pool, [a!], options)).toMatchObject({ revived: [a] });
    expect(await reemitAll(db.pool, {}, options)).toEqual({ revived: 1 });
    const published: string[] = [];
    const publish = ({ eventId }: { eventId: string }) => Promise.resolve(void published.push(eventId));
    expect(await drainOnce(db.pool, { schema, publish })).toMatchObject({ published: 2 });
    expect(published).toEqual([a, b]);
    const { verdicts } = await claimLedger(db, [{ eventId: a!, handler: 'mail' }], {
      leaseMs: 1_000,
      maxLeaseMs: 1_000,
    });
    const { startedAt } = verdicts[0] as { startedAt: number };
    expect(
      (await finishLedger((text, values) => db.query(text, values), [{ eventId: a!, handler: 'mail', startedAt }]))
        .size,
    ).toBe(1);
    await insertDoneLedger(db, 3, '31 days');
    expect(await prune(db, 'ledger', policyOf(loadConfig({})).ledger)).toMatchObject({ removed: 3 });

    const { rows } = await db.query<{ schema: string; table: string }>(
      `SELECT n.nspname AS schema, c.relname AS table FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
        WHERE relkind = 'r' AND nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY 1, 2`,
    );
    expect(rows.filter((row) => row.table === 't')).toEqual([{ schema: 'public', table: 't' }]);
    expect(new Set(rows.filter((row) => row.table !== 't').map((row) => row.schema))).toEqual(new Set([schema]));
  });

  it('two schemas of one database share no table (C46)', async () => {
    const one = await newDatabase('foo');
    await migrate(one.db);
    const other = openDatabase({ url: one.url, schema: 'foo_', poolSize: 1 });
    closers.push(() => other.close());
    await migrate(other);
    await enqueueEvents(one.db.pool, [event()], { schema: 'foo' });
    const claimed = await claimDue(other, await bumpFence(other), { rows: 10, bytes: 10_000 });
    expect(claimed.events).toEqual([]);
  });
});
