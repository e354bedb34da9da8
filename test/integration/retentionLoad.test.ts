import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../src/config';
import { claimDue } from '../../src/outbox/claim';
import { bumpFence } from '../../src/outbox/fence';
import { markDone } from '../../src/outbox/settle';
import { openDatabase, type Database } from '../../src/postgres/database';
import { policyOf } from '../../src/retention/policy';
import { prune } from '../../src/retention/prune';
import { insertDoneLedger } from '../support/aged';
import { cloneDatabase, type TestDatabase } from '../support/database';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';

const LONG = process.env.OUTBOX_TEST_LONG === 'on';
/** Shortened from the 2,000,000 of case C49, which `npm run bench -- prune` has too. */
const ROWS = LONG ? 2_000_000 : 60_000;
const LIMIT_MS = 600_000;
const CLAIMS_BEFORE = 50;

let database: TestDatabase;
const opened: Database[] = [];
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(async () => {
  for (const db of opened) await db.close();
  await database.drop();
});

/** As a role whose statements end after two seconds. */
function limited(): Database {
  const url = new URL(database.url);
  url.searchParams.set('options', '-c statement_timeout=2000');
  const db = openDatabase({
    ...{ url: url.toString(), schema: database.schema },
    ...{ poolSize: 1, applicationName: APPLICATION },
  });
  opened.push(db);
  return db;
}

test('two clean-ups at once remove all that is expired, without a time-out or a deadlock, and claims go on beside them (C49)', async () => {
  const { db } = database;
  for (let part = 0; part < 4; part++) await insertDoneLedger(db, ROWS / 4, `${31 + part} days`);
  await insertDoneLedger(db, 500, '1 day');
  const keep = policyOf(loadConfig({})).ledger;
  const relay = limited();
  const token = await bumpFence(relay);
  const claim = async (): Promise<number> => {
    await enqueue(db, [event()]);
    const begun = performance.now();
    const { events } = await claimDue(relay, token, { rows: 100, bytes: 1_000_000 });
    const ms = performance.now() - begun;
    expect(events).toHaveLength(1);
    await markDone(relay, token, []);
    return ms;
  };
  const before: number[] = [];
  for (let n = 0; n < CLAIMS_BEFORE; n++) before.push(await claim());

  const begun = performance.now();
  let over = false;
  // What a statement's time-out or a deadlock threw would be thrown here, but for what was tried again: see below.
  const pruning = Promise.all([prune(limited(), 'ledger', keep), prune(limited(), 'ledger', keep)]).finally(() => (over = true)); // prettier-ignore
  pruning.catch(() => undefined);
  const meanwhile: number[] = [];
  while (!over) {
    meanwhile.push(await claim());
    await sleep(5);
  }
  const [one, other] = await pruning;
  expect(performance.now() - begun).toBeLessThan(LIMIT_MS);
  expect(one.removed + other.removed).toBe(ROWS);
  const { rows } = await db.query<{ left: number; deadlocks: number }>(
    `SELECT (SELECT count(*)::integer FROM :schema.processed_events) AS left,
            (SELECT deadlocks::integer FROM pg_stat_database WHERE datname = current_database()) AS deadlocks`,
  );
  expect(rows[0]).toEqual({ left: 500, deadlocks: 0 });
  // Nor one that was cancelled and tried again with fewer rows.
  expect(await failedTransactions()).toBe(0);
  // A statement that met its time-out would have made its batch last for two seconds, as may a machine that stands still.
  if (LONG) expect(Math.max(one.longestMs, other.longestMs)).toBeLessThan(2_000);
  expect(meanwhile.length).toBeGreaterThan(LONG ? 10 : 0);
  // The machine may be slow by itself: by what a claim took just before. The long tests take no account of that.
  expect(p95(meanwhile)).toBeLessThan(LONG ? 100 : Math.max(100, 5 * p95(before)));
}, 900_000);

const APPLICATION = 'limited';

/** Since the database was made. Ends what `limited` has opened: a session that is at rest keeps its counts to itself for a while. */
async function failedTransactions(): Promise<number> {
  await Promise.all(opened.splice(0).map((each) => each.close()));
  await eventually(async () => {
    const { rowCount } = await database.db.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`,
      [APPLICATION],
    );
    return rowCount === 0;
  });
  const { rows } = await database.db.query<{ failed: number }>(
    `SELECT xact_rollback::integer AS failed FROM pg_stat_database WHERE datname = current_database()`,
  );
  return rows[0]!.failed;
}

function p95(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(0.95 * values.length)] ?? NaN;
}
