import { bounded } from '../../src/postgres/bounded';
import { binder, openDatabase } from '../../src/postgres/database';
import { eventually } from '../support/eventually';
import { cloneDatabase, type TestDatabase } from '../support/database';

/** Prepared statements are a gain, never a need: each way in which they can fail must end in the plain statement. */
describe('a prepared statement', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await cloneDatabase(1);
  });
  afterAll(() => database.drop());

  const HOT = `SELECT count(*)::integer AS count FROM :schema.event_queue WHERE id > $1::bigint`;
  const prepared = async () =>
    (await database.db.query<{ name: string; statement: string }>('SELECT name, statement FROM pg_prepared_statements'))
      .rows;

  it('is planned anew at each doubling of its runs, under names that no other schema shares', async () => {
    for (let run = 1; run <= 9; run++) await database.db.query(HOT, [run], { prepared: true });
    const own = (await prepared()).filter(({ statement }) => statement === binder(database.schema)(HOT));
    // Runs 1, 2-3, 4-7 and 8-9.
    expect(own.map(({ name }) => name.replace(/^outbox_[0-9a-f]{24}_/, '')).sort()).toEqual(['0', '1', '2', '3']);
    expect(new Set(own.map(({ name }) => name.slice(0, 31))).size).toBe(1);
  });

  it('that a pooler has lost, or knows already from another client, is run as a plain one', async () => {
    for (const spoil of ['DEALLOCATE ALL', 'PREPARE']) {
      const db = openDatabase({ url: database.url, schema: database.schema, poolSize: 1 });
      const { rows } = await db.query<{ count: number }>(HOT, [0], { prepared: true });
      const [{ name }] = (await db.query<{ name: string }>('SELECT name FROM pg_prepared_statements')).rows as [
        { name: string },
      ];
      if (spoil === 'PREPARE') {
        // Another server connection behind the same pooler: the client has not prepared here, somebody else has.
        const other = openDatabase({ url: database.url, schema: database.schema, poolSize: 1 });
        await other.query(`PREPARE ${name} AS SELECT 1`);
        expect((await other.query<{ count: number }>(HOT, [0], { prepared: true })).rows).toEqual(rows);
        await other.close();
      } else {
        // The second and third run share a name.
        await db.query(HOT, [0], { prepared: true });
        await db.query(spoil);
        expect((await db.query<{ count: number }>(HOT, [0], { prepared: true })).rows).toEqual(rows);
      }
      await db.close();
    }
  });

  it('whose result a migration has changed is run as a plain one', async () => {
    const db = openDatabase({ url: database.url, schema: database.schema, poolSize: 1 });
    const ALL = 'SELECT * FROM :schema.relay_fence';
    for (let run = 1; run <= 2; run++) await db.query(ALL, [], { prepared: true });
    await db.query('ALTER TABLE :schema.relay_fence ADD COLUMN later integer');
    expect(Object.keys((await db.query(ALL, [], { prepared: true })).rows[0] as object)).toContain('later');
    await db.close();
  });
});

describe('a bounded read', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await cloneDatabase(2);
  });
  afterAll(() => database.drop());

  it('whose connection ends between two statements is rejected, ends no process, and leaves a usable pool (C38)', async () => {
    const { db } = database;
    const reading = bounded(db, 2_000, async (reader) => {
      const { rows } = await reader.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      const pid = rows[0]?.pid;
      await db.query('SELECT pg_terminate_backend($1)', [pid]);
      const isGone = async () =>
        (await db.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])).rows.length === 0;
      await eventually(isGone, 10_000, 'the end of that connection');
      await reader.query('SELECT 1');
    });
    await expect(reading).rejects.toThrow();
    expect(await bounded(db, 2_000, async (reader) => (await reader.query('SELECT 1')).rows.length)).toBe(1);
  });

  it('is ended by PostgreSQL itself when it takes too long', async () => {
    await expect(bounded(database.db, 50, (reader) => reader.query('SELECT pg_sleep(60)'))).rejects.toMatchObject({
      code: '57014',
    });
  });
});
