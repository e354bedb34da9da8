import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../src/postgres/migrate';
import { emptyDatabase, type TestDatabase } from '../support/database';
import { ROOT } from '../support/markdown';
import { killCommand, runCommand } from './command';
import { POINTS } from './points/catalog';
import { SIDES } from './visit';
import { CrashWorld } from './world';

const MIGRATIONS = join(ROOT, 'migrations');
const ROWS = 500;

type From = 'an empty database' | 'the tables of the first build, with rows';

/** Of what is done for each migration: the third of an empty database, and the one that gives the rows their ids. */
const EACH = ['sql record migration', 'sql commit migration'];
/** Of the first build there is all that comes before the second migration. */
const ONLY_EMPTY = [
  'sql lock migration',
  'sql create schema',
  'sql create version table',
  'sql migrate 0001_event_queue',
];
const startsOf = (name: string): From[] => {
  if (EACH.includes(name)) return ['an empty database', 'the tables of the first build, with rows'];
  return [ONLY_EMPTY.includes(name) ? 'an empty database' : 'the tables of the first build, with rows'];
};

const cases = POINTS.filter(({ path }) => path === 'migrate').flatMap(({ name }) =>
  SIDES.flatMap((when) => startsOf(name).map((from) => [when, name, from] as const)),
);

/** No backend plays a part in it. */
describe('`outbox migrate` killed at any point', () => {
  let world: CrashWorld;
  let clean: unknown;
  const firstBuild = mkdtempSync(join(tmpdir(), 'outbox-migrations-'));
  const databases: TestDatabase[] = [];
  const empty = async () => {
    const database = await emptyDatabase('outbox_tables');
    databases.push(database);
    return database;
  };
  beforeAll(async () => {
    const [first = ''] = readdirSync(MIGRATIONS).sort();
    copyFileSync(join(MIGRATIONS, first), join(firstBuild, first));
    world = await CrashWorld.open({ EVENT_BUS_BACKEND: 'db' });
    const { db } = await empty();
    await migrate(db);
    clean = await shapeOf(db);
  });
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.drop()));
    await world.close();
    rmSync(firstBuild, { recursive: true });
  });

  it.each(cases)(
    'killed %s %s, on %s: another run makes the very schema of a clean one, with one row for each version, and keeps what was there',
    async (when, name, from) => {
      const { db, url, schema } = await empty();
      const settings = { DATABASE_URL: url, OUTBOX_SCHEMA: schema };
      const legacy = from !== 'an empty database';
      if (legacy) {
        await migrate(db, undefined, firstBuild);
        await insertLegacyRows(db);
      }
      const before = legacy ? await contentOf(db) : [];
      const nth = EACH.includes(name) && !legacy ? 3 : 1;
      await killCommand(world, { name, when, nth }, ['migrate'], settings);
      const given = legacy ? await idsOf(db) : [];
      expect(await runCommand(world, ['migrate'], settings)).toMatchObject({ code: 0 });
      expect(await shapeOf(db)).toEqual(clean);
      expect(await contentOf(db)).toEqual(before.map(afterwards));
      const ids = await idsOf(db);
      expect(ids).toEqual(given.length === 0 ? Array(before.length).fill(expect.any(String)) : given);
      expect(new Set(ids).size).toBe(before.length);
      expect(world.strangers()).toEqual([]);
    },
  );
});

/** As the first build and those who wrote to its table left them: in all states, and without ids. */
async function insertLegacyRows(db: TestDatabase['db']): Promise<void> {
  await db.query(
    `INSERT INTO :schema.event_queue (event_type, aggregate_type, aggregate_id, payload, status, published_at, failed_at)
     SELECT 'T', 't', n::text, jsonb_build_object('n', n),
            (ARRAY['pending', 'done', 'processing', 'dead_lettered', 'retrying', 'deferred'])[1 + n % 6],
            CASE WHEN n % 12 = 1 THEN now() END, CASE WHEN n % 12 = 3 THEN now() END
       FROM generate_series(1, $1::integer) AS n`,
    [ROWS],
  );
}

interface LegacyRow {
  readonly status: string;
}

/** What waited then waited for a time that nobody had written down: it is due. */
function afterwards(row: LegacyRow): LegacyRow {
  return ['retrying', 'deferred'].includes(row.status) ? { ...row, status: 'pending' } : row;
}

async function contentOf(db: TestDatabase['db']): Promise<LegacyRow[]> {
  const { rows } = await db.query<LegacyRow>(
    `SELECT id, event_type, aggregate_type, aggregate_id, payload, version, occurred_at, available_at, status, attempts
       FROM :schema.event_queue ORDER BY id`,
  );
  return rows;
}

/** Event ids in the order of the rows; none while the rows have none. */
async function idsOf(db: TestDatabase['db']): Promise<unknown[]> {
  const { rows } = await db.query<{ id: unknown }>(
    `SELECT to_jsonb(q) -> 'event_id' AS id FROM :schema.event_queue q WHERE to_jsonb(q) ? 'event_id' ORDER BY q.id`,
  );
  return rows.map(({ id }) => id);
}

/** Columns, indexes, constraints, settings and single rows: whatever a migration makes. */
async function shapeOf(db: TestDatabase['db']): Promise<unknown> {
  const schema = db.schema;
  const read = async (text: string) => (await db.query(text, [schema])).rows;
  return {
    columns: await read(
      `SELECT table_name, column_name, data_type, is_nullable, column_default, is_identity, generation_expression
         FROM information_schema.columns WHERE table_schema = $1 ORDER BY 1, ordinal_position`,
    ),
    indexes: await read('SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = $1 ORDER BY 1'),
    constraints: await read(
      `SELECT conrelid::regclass::text AS table, conname, pg_get_constraintdef(oid) AS is FROM pg_constraint
        WHERE connamespace = $1::regnamespace ORDER BY 1, 2`,
    ),
    tables: await read(
      'SELECT relname, relkind, reloptions FROM pg_class WHERE relnamespace = $1::regnamespace ORDER BY 1',
    ),
    migrations: (await db.query('SELECT version, name, breaking FROM :schema.outbox_migrations ORDER BY 1')).rows,
    rows: (
      await db.query(
        'SELECT (SELECT count(*) FROM :schema.relay_fence), (SELECT count(*) FROM :schema.outbox_installation)',
      )
    ).rows,
  };
}
