import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordArchive } from '../../src/retention/archive';
import { insertDoneLedger, insertRow } from '../support/aged';
import { cloneDatabase, ownerOf, type TestDatabase } from '../support/database';
import { insertDelivery } from '../support/deliveries';
import '../support/printedRoles';
import { runCli } from '../support/runCli';

/* Without Temporal and NATS, which `runCli` sends nowhere. */

let database: TestDatabase;
let env: Record<string, string>;
beforeAll(async () => {
  database = await cloneDatabase();
  env = { DATABASE_URL: database.url, OUTBOX_SCHEMA: database.schema };
});
afterAll(() => database.drop());
beforeEach(async () => {
  const { db } = database;
  await ownerOf(db).query('TRUNCATE :schema.event_queue, :schema.deliveries, :schema.processed_events');
  await recordArchive(db, false);
  await insertDoneLedger(db, 700, '31 days');
  await insertDoneLedger(db, 3, '29 days');
  await insertRow(db, 'done', { age: '8 days' });
  await insertRow(db, 'done', { age: '8 days', type: 'Signed' });
  await insertRow(db, 'done', { age: '1 day' });
  await insertRow(db, 'dead_lettered', { age: '400 days' });
});

const cli = (...args: string[]) => runCli(['prune', ...args], env);
const count = async (table: string) =>
  (await database.db.query<{ n: number }>(`SELECT count(*)::integer AS n FROM :schema.${table}`)).rows[0]?.n;

test('removes what the schedule would, and says what; a dry run says the same before, and removes nothing', async () => {
  const dry = await cli('--dry-run');
  expect(dry).toMatchObject({ code: 0, stderr: '702 rows would go.\n' });
  expect([await count('processed_events'), await count('event_queue')]).toEqual([703, 4]);
  const { code, stdout, stderr } = await cli();
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^WHAT +OLDER THAN +REMOVED\nledger +30 d +700\ndone +7 d +2\nskipped +by type, or never +0\ndead +by type, or never +0\n$/,
  );
  expect(stderr).toMatch(/^Removed 702 rows in /);
  expect([await count('processed_events'), await count('event_queue')]).toEqual([3, 2]);
  const again = await cli('--json');
  expect(JSON.parse(again.stdout)).toEqual({ dryRun: false, removed: { ledger: 0, done: 0, skipped: 0, dead: 0 } });
});

test('another age is for named kinds, and passes by types that have an age of their own, unless they are named', async () => {
  const kept = { ...env, OUTBOX_RETENTION_OVERRIDES: 'Signed=never' };
  const shorter = await runCli(['prune', '--only', 'done', '--older-than', '12h', '--json'], kept);
  expect(JSON.parse(shorter.stdout)).toEqual({ dryRun: false, removed: { done: 2 } });
  const named = await runCli(['prune', '--only', 'done', '--type', 'Signed', '--older-than', '7d', '--json'], kept);
  expect(JSON.parse(named.stdout)).toEqual({ dryRun: false, removed: { done: 1 } });
});

test('is never less careful than the schedule', async () => {
  expect(await cli('--only', 'ledger', '--older-than', '1d')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/The ledger must remember 30 d/) as string,
  });
  expect(await cli('--older-than', '1d')).toMatchObject({ code: 2 });
  expect(await cli('--type', 'Signed')).toMatchObject({ code: 2 });
  expect(await cli('--only', 'everything')).toMatchObject({ code: 2 });
  expect(await cli('--only', 'done', '--older-than', '90')).toMatchObject({ code: 2 });
  const dead = ['--only', 'dead', '--older-than', '365d'];
  expect(await cli(...dead)).toMatchObject({ code: 2, stderr: expect.stringMatching(/say --yes/) as string });
  const eventId = await insertRow(database.db, 'done', { age: '8 days' });
  await insertDelivery(database.db, { eventId, state: 'waiting' });
  await cli('--only', 'done', '--older-than', '1s');
  expect(await count('event_queue')).toBe(2);
  expect(JSON.parse((await cli(...dead, '--yes', '--json')).stdout)).toEqual({ dryRun: false, removed: { dead: 1 } });
});

test('gives the rows to the archive of a module, and removes none without it where a worker had one', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'outbox-archive-'));
  try {
    const [module, file] = [join(directory, 'archive.cjs'), join(directory, 'rows.ndjson')];
    writeFileSync(
      module,
      `exports.archive = ({ rows }) => require('node:fs').appendFileSync(${JSON.stringify(file)}, rows.join('\\n') + '\\n');`,
    );
    await recordArchive(database.db, true);
    expect(await cli()).toMatchObject({ code: 1, stderr: expect.stringMatching(/through an archive/) as string });
    expect(await cli('--archive', module)).toMatchObject({ code: 0 });
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(702);
    await insertRow(database.db, 'done', { age: '8 days' });
    expect(await cli('--forget-archive')).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Removed 1 row /) as string }); // prettier-ignore
    expect(await cli('--archive', file)).toMatchObject({ code: 1 });
  } finally {
    rmSync(directory, { recursive: true });
  }
});
