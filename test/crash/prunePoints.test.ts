import { join } from 'node:path';
import { insertAgedLedger, insertRow } from '../support/aged';
import { insertDelivery } from '../support/deliveries';
import type { Settings } from '../support/outbox';
import { eventually } from '../support/eventually';
import { arenas } from './arena';
import { killCommand, runCommand } from './command';
import { few } from './eventsOf';
import { BOTH } from './points/point';
import { SIDES, titleOf, visited, type Visit } from './visit';
import { CrashWorld, PATIENCE_MS } from './world';

const OLD = '40 days';
const YOUNG = '1 day';
const LIMITS: Settings = {
  OUTBOX_LEDGER_RETENTION_MS: '2592000000',
  OUTBOX_DONE_RETENTION_MS: '2592000000',
  OUTBOX_SKIPPED_RETENTION_MS: '2592000000',
  OUTBOX_DEAD_RETENTION_MS: '2592000000',
};
const ARCHIVE = ['--archive', join(__dirname, 'archive.mjs')];

/** By table, the events whose row is there. */
type Rows = Readonly<Record<string, readonly string[]>>;

const VISITS: readonly Visit[] = [
  ...['sql prune ledger', 'sql prune done rows', 'sql prune dead rows'].map((point) => ({ point, events: [] })),
  { point: 'sql prune deliveries', by: 'skipped ones', events: [] },
  { point: 'sql prune deliveries', by: 'dead ones', nth: 2, events: [] },
  // The first is that of the look.
  { point: 'sql commit prune', nth: 2, events: [] },
  { point: 'archive', events: [] },
];

describe.each(BOTH)('backend %s: a clean-up killed at any point', (backend) => {
  const cases = visited(backend, ['prune'], VISITS).flatMap((visit) =>
    SIDES.map((side) => [titleOf(visit, side), visit, side] as const),
  );
  let world: CrashWorld;
  beforeAll(async () => {
    world = await CrashWorld.open({ EVENT_BUS_BACKEND: backend, ...LIMITS });
  });
  afterAll(() => world.close());

  it.each(cases)('%s: nothing that is not due is gone, the next run removes all that is', async (_, visit, when) => {
    const { point: name, nth } = visit;
    const fault = { name, when, ...(nth !== undefined && { nth }) };
    // Each is given the rows before they go; without one there is nothing between look and removal.
    const archive = name === 'archive' || when === 'after' ? ARCHIVE : ['--forget-archive'];
    const due = await insertRows(world, OLD);
    const young = await insertRows(world, YOUNG);

    await killCommand(world, fault, ['prune', ...archive]);
    expect(missing(young, await rowsOf(world))).toEqual([]);
    if (archive === ARCHIVE) expect(missing(without(due, await rowsOf(world)), archived(world))).toEqual([]);

    const again = await runCommand(world, ['prune', ...archive]);
    expect(again).toMatchObject({ code: 0 });
    const left = await rowsOf(world);
    expect(missing(young, left)).toEqual([]);
    expect(missing(due, without(due, left))).toEqual([]);
    if (archive === ARCHIVE) expect(missing(due, archived(world))).toEqual([]);
    expect(world.strangers()).toEqual([]);
  });
});

/** The schedule's run, in a worker: what its own activity leaves is removed by the next attempt of it. */
describe('a worker killed while it cleans up by the schedule: events are not concerned, and what is due goes', () => {
  for (const backend of BOTH)
    arenas(
      backend,
      [],
      [{ point: 'sql commit prune', by: 'by the schedule', nth: 2, events: few, act: cleanUp, heal: cleaned }],
    );
});

async function cleanUp({ db, outbox }: CrashWorld): Promise<void> {
  for (const age of [OLD, YOUNG]) {
    await insertRow(db, 'done', { age });
    await insertAgedLedger(db, 'done', { age });
  }
  await outbox.maintenance().trigger();
}

/** Of either side one old row of a table is gone, and one young one is there. */
async function cleaned({ db }: CrashWorld): Promise<void> {
  const count = async (of: string) => {
    const { rows } = await db.query<{ rows: number }>(
      `SELECT ((SELECT count(*) FROM :schema.event_queue WHERE published_at ${of})
             + (SELECT count(*) FROM :schema.processed_events WHERE processed_at ${of}))::integer AS rows`,
    );
    return rows[0]?.rows;
  };
  await eventually(
    async () => (await count(`< now() - interval '39 days'`)) === 0,
    PATIENCE_MS,
    'all that is due gone',
  );
  expect(await count(`BETWEEN now() - interval '2 days' AND now() - interval '12 hours'`)).toBe(4);
}

/** Of each kind that may go some day: some rows of this age. */
async function insertRows({ db }: CrashWorld, age: string): Promise<Rows> {
  const at = `clock_timestamp() - interval '${age}'`;
  const ledger = await insertAgedLedger(db, 'done', { age });
  const done = [await insertRow(db, 'done', { age }), await insertRow(db, 'done', { age })];
  const given = await insertRow(db, 'dead_lettered', { age });
  const dead = await insertRow(db, 'dead_lettered', { age });
  await insertDelivery(db, { eventId: dead, at });
  const skipped = await insertDelivery(db, { state: 'skipped' });
  await db.query(`UPDATE :schema.deliveries SET touched_at = ${at} WHERE event_id = $1`, [skipped]);
  return { event_queue: [...done, given, dead], processed_events: [ledger], deliveries: [dead, skipped] };
}

async function rowsOf({ db }: CrashWorld): Promise<Rows> {
  const rows: Record<string, string[]> = {};
  for (const table of ['event_queue', 'processed_events', 'deliveries']) {
    const found = await db.query<{ id: string }>(`SELECT event_id::text AS id FROM :schema.${table}`);
    rows[table] = found.rows.map(({ id }) => id);
  }
  return rows;
}

function archived(world: CrashWorld): Rows {
  const rows: Record<string, string[]> = {};
  for (const { table, row } of world.archived()) (rows[table] ??= []).push(row.event_id);
  return rows;
}

/** Those of `rows` that are not in `others`. */
function without(rows: Rows, others: Rows): Rows {
  return Object.fromEntries(
    Object.entries(rows).map(([table, ids]) => [table, ids.filter((id) => !others[table]?.includes(id))]),
  );
}

function missing(wanted: Rows, found: Rows): string[] {
  return Object.entries(without(wanted, found)).flatMap(([table, ids]) => ids.map((id) => `${table} ${id}`));
}
