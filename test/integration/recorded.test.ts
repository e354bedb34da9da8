import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forgetHandler } from '../../src/deliveries/forgetHandler';
import { recordHandlers } from '../../src/handlers/recorded';
import type { Database } from '../../src/postgres/database';
import { migrate } from '../../src/postgres/migrate';
import { cloneDatabase, emptyDatabase, type TestDatabase } from '../support/database';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function opened(database: Promise<TestDatabase>): Promise<Database> {
  const made = await database;
  closers.push(() => made.drop());
  return made.db;
}

const record = (db: Database, eventsByHandler: Record<string, string[]>) =>
  recordHandlers(db, { size: Object.keys(eventsByHandler).length, eventsByHandler });

/** What a build does that knows nothing of times. */
const recordAsBefore = (db: Database, events: Record<string, string[]>) =>
  db.query(
    `UPDATE :schema.outbox_installation SET handler_events = handler_events || $1::jsonb,
            handlers = ARRAY(SELECT jsonb_object_keys(handler_events || $1::jsonb) ORDER BY 1),
            handlers_revision = handlers_revision + 1`,
    [JSON.stringify(events)],
  );

type Times = Record<string, Record<string, number>>;

/** As `reconcile` reads them. */
async function times(db: Database): Promise<Times> {
  const { rows } = await db.query<{ since: Times; isKnown: boolean }>(
    `SELECT handlers_since AS since, handlers_since_revision = handlers_revision AS "isKnown"
       FROM :schema.outbox_installation`,
  );
  return rows[0]!.isKnown ? rows[0]!.since : {};
}

async function clock(db: Database): Promise<number> {
  const { rows } = await db.query<{ now: number }>(
    `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now`,
  );
  return rows[0]!.now;
}

const MIGRATIONS = join(__dirname, '..', '..', 'migrations');

function buildBefore(version: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'outbox-migrations-'));
  closers.push(() => rmSync(directory, { recursive: true }));
  for (const name of readdirSync(MIGRATIONS).filter((file) => file < version))
    copyFileSync(join(MIGRATIONS, name), join(directory, name));
  return directory;
}

describe('since when a handler is recorded', () => {
  it('is written once for each type, and kept by later starts', async () => {
    const db = await opened(cloneDatabase());
    const before = await clock(db);
    await record(db, { one: ['A'] });
    const first = await times(db);
    expect(first).toEqual({ one: { A: expect.any(Number) as number } });
    expect(first.one!.A).toBeGreaterThanOrEqual(before);
    const between = await clock(db);
    await record(db, { one: ['A', 'B'], two: ['A'] });
    const second = await times(db);
    expect(second.one!.A).toBe(first.one!.A);
    expect(second.one!.B).toBeGreaterThanOrEqual(between);
    expect(second.two!.A).toBeGreaterThanOrEqual(between);
    await record(db, { one: ['A', 'B'] });
    expect(await times(db)).toEqual(second);
  });

  it('writes nothing at a start that brings nothing new', async () => {
    const db = await opened(cloneDatabase());
    await record(db, { one: ['A'] });
    const version = async () =>
      (await db.query<{ version: string }>(`SELECT ctid::text AS version FROM :schema.outbox_installation`)).rows;
    const before = await version();
    await record(db, { one: ['A'] });
    expect(await version()).toEqual(before);
  });

  it('is there for all of many workers that start at once', async () => {
    const db = await opened(cloneDatabase());
    const names = Array.from({ length: 12 }, (_, n) => `h${n}`);
    await Promise.all(names.map((name) => record(db, { [name]: ['A'], common: ['B'] })));
    expect(await times(db)).toEqual(
      Object.fromEntries([
        ...names.map((name) => [name, { A: expect.any(Number) as number }] as const),
        ['common', { B: expect.any(Number) as number }],
      ]),
    );
  });

  it('begins again for a type that was dropped, and for a handler that was forgotten', async () => {
    const db = await opened(cloneDatabase());
    await record(db, { one: ['A', 'B'], two: ['A'] });
    const first = await times(db);
    await record(db, { one: ['A'] });
    expect(await times(db)).toEqual({ one: { A: first.one!.A }, two: first.two });
    await forgetHandler(db, 'two');
    expect(await times(db)).toEqual({ one: { A: first.one!.A } });
    await record(db, { one: ['A', 'B'], two: ['A'] });
    const last = await times(db);
    expect(last.one!.A).toBe(first.one!.A);
    expect(last.one!.B).toBeGreaterThan(first.one!.B!);
    expect(last.two!.A).toBeGreaterThan(first.two!.A!);
  });

  it('is unknown from the moment a build without times changes the set, until the next start of one with them', async () => {
    const db = await opened(cloneDatabase());
    await record(db, { one: ['A'] });
    const first = await times(db);
    await recordAsBefore(db, { one: [] });
    await recordAsBefore(db, { one: ['A'], two: ['A'] });
    expect(await times(db)).toEqual({});
    await forgetHandler(db, 'two');
    expect(await times(db)).toEqual({});
    await record(db, { one: ['A'] });
    const last = await times(db);
    expect(last).toEqual({ one: { A: expect.any(Number) as number } });
    expect(last.one!.A).toBeGreaterThan(first.one!.A!);
  });

  it('is the time of the migration for what was recorded before it', async () => {
    const db = await opened(emptyDatabase());
    await migrate(db, undefined, buildBefore('0005'));
    await recordAsBefore(db, { one: ['A', 'B'], idle: [] });
    const before = await clock(db);
    await migrate(db);
    const since = await times(db);
    expect(since).toEqual({ one: { A: since.one!.A, B: expect.any(Number) as number }, idle: {} });
    expect(since.one!.A).toBeGreaterThanOrEqual(before);
    await record(db, { one: ['A', 'B'] });
    expect(await times(db)).toEqual(since);
  });
});
