import { Client } from 'pg';
import { findOlderThan, transactions } from '../../src/doctor/transactions';
import type { Patient } from '../../src/doctor/finding';
import { openDatabase, type Database } from '../../src/postgres/database';
import { eventually } from '../support/eventually';
import { OwnServers } from '../support/ownServers';

const servers = new OwnServers();
let url: string;
let db: Database;
let somebody: Client;

beforeAll(async () => {
  const server = await servers.postgres();
  ({ url } = server);
  // Off by default, and read at its start only.
  const admin = openDatabase({ url, schema: 'public', poolSize: 1 });
  await admin.query('ALTER SYSTEM SET max_prepared_transactions = 4');
  await admin.close();
  await server.stop();
  await server.start();
  db = openDatabase({ url, schema: 'public', poolSize: 1 });
}, 120_000);
afterAll(async () => {
  await db.close();
  await servers.close();
});
beforeEach(async () => {
  somebody = new Client({ connectionString: url, application_name: "the report's\tclient" });
  await somebody.connect();
  await somebody.query('BEGIN');
  await somebody.query('CREATE TABLE held ()');
});
afterEach(() => somebody.end().catch(() => undefined));

const OLD_MS = 50;
const told = () =>
  eventually(async () => {
    const [first] = await findOlderThan(db, OLD_MS);
    return first?.level === 'warning' ? first : undefined;
  });

test('a transaction that is open for long is told with who has it, its process, and what ends it', async () => {
  const { rows } = await somebody.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const { pid } = rows[0]!;
  const found = await told();
  expect(found.what).toMatch(
    new RegExp(`^A transaction of the report's.client \\(role postgres, process ${pid}, idle in transaction\\) has been open for `),
  );
  // As it says, and it is gone.
  somebody.on('error', () => undefined);
  await db.query(/SELECT .*/.exec(found.todo ?? '')?.[0] ?? '');
  await eventually(async () => (await findOlderThan(db, OLD_MS))[0]?.level === 'ok');
}); // prettier-ignore

test('a prepared transaction that nobody has ended is told by its name, with what ends it', async () => {
  await somebody.query(`PREPARE TRANSACTION 'it''s mine'`);
  const found = await told();
  expect(found.what).toMatch(/^The prepared transaction it's mine has been open for .*, and holds vacuum back\.$/);
  expect(found.todo).toBe(`Run: COMMIT PREPARED 'it''s mine', or ROLLBACK PREPARED`);
  await db.query(`ROLLBACK PREPARED 'it''s mine'`);
  expect(await findOlderThan(db, OLD_MS)).toMatchObject([{ level: 'ok' }]);
});

test('one that has just begun is nothing to tell', async () => {
  expect(await transactions.look({ db } as Patient)).toEqual([
    { level: 'ok', what: 'No transaction of this database is older than 5 min.', todo: null },
  ]);
});

test('a role from which PostgreSQL hides the transactions of others is told so, with the grant that ends it', async () => {
  await db.query('CREATE ROLE looker LOGIN');
  const its = new URL(url);
  its.username = 'looker';
  const looker = openDatabase({ url: its.toString(), schema: 'public', poolSize: 1 });
  try {
    await eventually(async () => (await findOlderThan(db, OLD_MS))[0]?.level === 'warning');
    const found = await findOlderThan(looker, OLD_MS);
    expect(found).toMatchObject([
      { level: 'warning', what: expect.stringMatching(/^Only transactions of looker/) as string },
    ]);
    await db.query(/GRANT .*/.exec(found[0]?.todo ?? '')?.[0] ?? '');
    const now = await findOlderThan(looker, OLD_MS);
    expect(now).toMatchObject([{ what: expect.stringMatching(/^A transaction of the report/) as string }]);
  } finally {
    await looker.close();
  }
});
