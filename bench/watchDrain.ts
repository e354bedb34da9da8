import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../src/postgres/database';

const WAITING = `
  SELECT id FROM :schema.event_queue WHERE status IN ('pending', 'deferred')
   ORDER BY coalesce(retry_at, available_at), id LIMIT 1`;
const CLAIMED = `SELECT id FROM :schema.event_queue WHERE status = 'processing' ORDER BY claim_token LIMIT 1`;
const FENCE = `SELECT epoch::text AS epoch FROM :schema.relay_fence`;

/** Index look-ups of well under a millisecond; the relay and the bare loops bear them alike. */
const START_POLL_MS = 2;
const POLL_MS = 50;
const END_POLL_MS = 10;
const WITHIN_MS = 120_000;

/**
 * Times a drain from outside, so that the relay and the bare loops are held against one clock: from the first claim,
 * which moves the fence, until the last row is done.
 *
 * @param db a pool that plans no sequential scans
 * @param start lets the drain begin
 * @param withinMs how long it may take at most
 * @returns milliseconds
 */
export async function watchDrain(db: Database, start: () => Promise<void>, withinMs = WITHIN_MS): Promise<number> {
  const epoch = async () => (await db.query<{ epoch: string }>(FENCE)).rows[0]?.epoch;
  const some = async (sql: string) => (await db.query(sql)).rows.length > 0;
  const deadline = performance.now() + withinMs;
  const wait = async (ms: number) => {
    if (performance.now() > deadline) throw new Error(`a drain was not over within ${withinMs} ms`);
    await sleep(ms);
  };

  const before = await epoch();
  let failed: Error | undefined;
  const started = start().catch((error: Error) => (failed = error));
  while ((await epoch()) === before) {
    if (failed) throw failed;
    await wait(START_POLL_MS);
  }
  const begun = performance.now();
  while (await some(WAITING)) {
    if (failed) throw failed;
    await wait(POLL_MS);
  }
  while (await some(CLAIMED)) await wait(END_POLL_MS);
  const ms = performance.now() - begun;
  await started;
  if (failed) throw failed;
  return ms;
}
