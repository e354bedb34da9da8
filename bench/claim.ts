import type { Database } from '../src/postgres/database';
import { builtClaim, builtFence, builtSettle } from './build';
import type { Figures } from './figures';
import { startAfresh } from './fill';
import { percentile } from './numbers';
import { readPlan } from './plan';
import type { Rig } from './rig';

const CLAIMS = 100;
const BATCH = 10;
const DUE = 100;

/** A history as a busy outbox has it after weeks: `done`, scheduled, dead and due rows, in this order, mixed. */
const HISTORY = `
  INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload, status, available_at,
         published_at, failed_at, failure_reason)
  SELECT gen_random_uuid(), 'OrderPlaced', 'order', (n % 1000)::text, jsonb_build_object('n', n), status,
         CASE WHEN status = 'pending' AND n > $4 THEN clock_timestamp() + interval '1 day' + n * interval '1 ms'
              ELSE clock_timestamp() - interval '1 hour' + n * interval '1 ms' END,
         CASE WHEN status = 'done' THEN clock_timestamp() END,
         CASE WHEN status = 'dead_lettered' THEN clock_timestamp() END,
         CASE WHEN status = 'dead_lettered' THEN 'refused' END
    FROM (SELECT n, CASE WHEN n <= $4 THEN 'pending' WHEN n <= $4 + $3 THEN 'dead_lettered'
                         WHEN n <= $4 + $3 + $2 THEN 'pending' ELSE 'done' END AS status
            FROM generate_series(1, $1::integer + $2::integer + $3::integer + $4::integer) AS n) AS rows
   ORDER BY md5(n::text)`;

/** The claim among millions of other rows. Each is committed and handed back, so that dead index entries pile up too. */
export async function claim(rig: Rig): Promise<Figures> {
  const { db, say } = rig;
  const { claimDue } = builtClaim();
  const { free } = builtSettle();
  const scale = rig.quick ? 0.1 : 1;
  const rows = { done: 1_000_000 * scale, future: 300_000 * scale, dead: 50_000 * scale, due: DUE };
  await startAfresh(rig);
  say(`claim: writing ${rows.done + rows.future + rows.dead + rows.due} rows`);
  await db.query(HISTORY, [rows.done, rows.future, rows.dead, rows.due]);
  await db.query('VACUUM (ANALYZE) :schema.event_queue');
  await db.query('CHECKPOINT');

  const single = rig.database(1);
  const token = await builtFence().bumpFence(single);
  const limits = { rows: BATCH, bytes: 4 * 1024 * 1024 };
  const statement = await textOf((recorder) => claimDue(recorder, token, limits));
  const plan = await readPlan(single, statement.text, statement.values);
  const withWork = await timed(BATCH);
  // What is due now would be due for ever after: put off, it leaves the claim with nothing to find.
  await db.query(`UPDATE :schema.event_queue SET available_at = clock_timestamp() + interval '2 days'
                   WHERE status = 'pending' AND available_at <= clock_timestamp()`);
  const withoutWork = await timed(0);
  say(`claim: plan reads event_queue by ${plan.scans.join(', ')}, ${plan.rowsRead} rows, ${plan.buffers} pages`);
  if (plan.sequential) say('claim: THE PLAN HAS A SEQUENTIAL SCAN');
  return {
    claim: {
      p95Ms: percentile(withWork, 0.95),
      p50Ms: percentile(withWork, 0.5),
      nothingDueP95Ms: percentile(withoutWork, 0.95),
      batch: BATCH,
      rowsRead: plan.rowsRead,
      sequentialScan: plan.sequential,
      scans: plan.scans,
      pages: plan.buffers,
    },
  };

  async function timed(expected: number): Promise<number[]> {
    const times: number[] = [];
    for (let index = 0; index < CLAIMS; index++) {
      const begun = performance.now();
      const claimed = await claimDue(single, token, limits);
      times.push(performance.now() - begun);
      if (claimed.events.length !== expected)
        throw new Error(`a claim took ${claimed.events.length} rows, not ${expected}`);
      if (expected > 0) await free(single, token);
    }
    return times;
  }
}

/** The statement that a query function sends, without sending it: there is one text of it, in the product. */
async function textOf(run: (db: Database) => Promise<unknown>): Promise<{ text: string; values: unknown[] }> {
  let seen: { text: string; values: unknown[] } | undefined;
  const recorder = {
    query: (text: string, values: unknown[] = []) => {
      seen = { text, values };
      return Promise.resolve({ rows: [], rowCount: 0 });
    },
  } as unknown as Database;
  await run(recorder);
  if (!seen) throw new Error('the claim sent no statement');
  return seen;
}
