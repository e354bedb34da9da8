import { migrate } from '../../src/postgres/migrate';
import { emptyDatabase, type TestDatabase } from '../support/database';
import { killCommand, runCommand } from './command';
import { POINTS } from './points/catalog';
import { SIDES } from './visit';
import { CrashWorld } from './world';

/** The last migration is recorded and committed like each of them. */
const nthOf = (name: string) => (/record migration|commit migration/.test(name) ? 3 : 1);

const cases = POINTS.filter(({ path }) => path === 'migrate').flatMap(({ name }) =>
  SIDES.map((when) => [when, name] as const),
);

/** No backend plays a part in it. */
describe('`outbox migrate` killed at any point', () => {
  let world: CrashWorld;
  let clean: unknown;
  const databases: TestDatabase[] = [];
  const empty = async () => {
    const database = await emptyDatabase('outbox_tables');
    databases.push(database);
    return database;
  };
  beforeAll(async () => {
    world = await CrashWorld.open({ EVENT_BUS_BACKEND: 'db' });
    const { db } = await empty();
    await migrate(db);
    clean = await shapeOf(db);
  });
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.drop()));
    await world.close();
  });

  it.each(cases)(
    'killed %s %s: another run makes the very schema of a clean one, with one row for each version',
    async (when, name) => {
      const { db, url, schema } = await empty();
      const settings = { DATABASE_URL: url, OUTBOX_SCHEMA: schema };
      await killCommand(world, { name, when, nth: nthOf(name) }, ['migrate'], settings);
      expect(await runCommand(world, ['migrate'], settings)).toMatchObject({ code: 0 });
      expect(await shapeOf(db)).toEqual(clean);
      expect(world.strangers()).toEqual([]);
    },
  );
});

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
