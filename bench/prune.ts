import { setTimeout as sleep } from 'node:timers/promises';
import { builtClaim, builtFence, builtPolicy, builtPrune, builtSettle } from './build';
import type { Figures } from './figures';
import { startAfresh } from './fill';
import { percentile } from './numbers';
import type { Rig } from './rig';
import { orderPlaced, sendSteadily } from './steady';

const RATE = 100;
/** As a relay finds what came in since its last claim. */
const CLAIM_EVERY_MS = 20;
const WARM_UP_MS = 5_000;

/** A backlog of years, mixed with what is young, as it lies in a ledger that nobody has cleaned. */
const EXPIRED = `
  INSERT INTO :schema.processed_events (event_id, handler, status, started_at, processed_at)
  SELECT gen_random_uuid(), 'orders', 'done', at, at
    FROM (SELECT clock_timestamp() - interval '31 days' - n * interval '1 second' AS at
            FROM generate_series(1, $1::integer) AS n) AS times`;
const YOUNG = `
  INSERT INTO :schema.processed_events (event_id, handler, status, processed_at)
  SELECT gen_random_uuid(), 'orders', 'done', clock_timestamp() FROM generate_series(1, $1::integer)`;

/** Two clean-ups of one ledger at once, beside producers and a relay's claims; every session has the time-out of case C49. */
export async function prune(rig: Rig): Promise<Figures> {
  const { say } = rig;
  const rows = rig.quick ? 100_000 : 2_000_000;
  await startAfresh(rig);
  say(`prune: writing ${rows} expired rows`);
  await rig.db.query('TRUNCATE :schema.processed_events');
  await rig.db.query(EXPIRED, [rows]);
  await rig.db.query(YOUNG, [rows / 10]);
  await rig.db.query('VACUUM (ANALYZE) :schema.processed_events');
  await rig.db.query('CHECKPOINT');

  const stop = new AbortController();
  const traffic = sendSteadily(rig, RATE, (n) => (stop.signal.aborted ? undefined : orderPlaced(n)));
  const claims = claimUntil(rig, stop.signal);
  await sleep(WARM_UP_MS);
  const begun = performance.now();
  const pruning = await Promise.all([pruneOnce(rig), pruneOnce(rig)]);
  const tookMs = performance.now() - begun;
  stop.abort();
  const times = (await claims).filter(({ at }) => at >= begun).map(({ ms }) => ms);
  const before = (await claims).filter(({ at }) => at < begun).map(({ ms }) => ms);
  const { latestStartMs } = await traffic;
  const left = await rig.db.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM :schema.processed_events WHERE processed_at < now() - interval '30 days'`,
  );
  const removed = pruning.reduce((sum, one) => sum + one.removed, 0);
  if (removed !== rows || left.rows[0]?.count !== 0) throw new Error(`${removed} of ${rows} rows were removed`);
  return {
    prune: {
      rows,
      seconds: tookMs / 1_000,
      rowsPerSecond: rows / (tookMs / 1_000),
      claims: times.length,
      claimP50Ms: percentile(times, 0.5),
      claimP95Ms: percentile(times, 0.95),
      claimMaxMs: percentile(times, 1),
      claimP95BeforeMs: percentile(before, 0.95),
      longestBatchMs: Math.max(...pruning.map(({ longestMs }) => longestMs)),
      latestStartMs,
    },
  };
}

/** As `outbox prune` does it: a pool of one. A statement that meets the time-out, or a deadlock, ends the bench. */
async function pruneOnce(rig: Rig): Promise<{ removed: number; longestMs: number }> {
  const db = rig.database(1, { statement_timeout: '2000' });
  const { ledger } = builtPolicy().policyOf(rig.config);
  const result = await builtPrune().prune(db, 'ledger', ledger);
  await db.close();
  return result;
}

async function claimUntil(rig: Rig, signal: AbortSignal): Promise<{ at: number; ms: number }[]> {
  const db = rig.database(1, { statement_timeout: '2000' });
  const { claimDue } = builtClaim();
  const token = await builtFence().bumpFence(db);
  const times: { at: number; ms: number }[] = [];
  while (!signal.aborted) {
    const at = performance.now();
    const { events } = await claimDue(db, token, { rows: 4_000, bytes: 4 * 1024 * 1024 });
    times.push({ at, ms: performance.now() - at });
    if (events.length > 0) await builtSettle().markDone(db, token, []);
    await sleep(CLAIM_EVERY_MS);
  }
  await db.close();
  return times;
}
