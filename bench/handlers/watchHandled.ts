import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../src/postgres/database';
import { watchDrain } from '../watchDrain';

const HANDLED = 'SELECT count(*)::integer AS handled FROM bench_effects';

const LEAST_POLL_MS = 10;
const WITHIN_MS = 120_000;

/**
 * Times a drain from outside, by one clock for all: from the first claim, which moves the fence, until every row is done
 * and every event has its effect, which commits with its entry in the ledger. With a broker between the two, the effects
 * come last.
 *
 * @param db a pool that plans no sequential scans
 * @param start lets the drain begin
 * @returns milliseconds
 */
export async function watchHandled(db: Database, events: number, start: () => Promise<void>): Promise<number> {
  const drainedMs = await watchDrain(db, start);
  const drainedAt = performance.now();
  for (;;) {
    const handled = (await db.query<{ handled: number }>(HANDLED)).rows[0]?.handled ?? 0;
    const ms = drainedMs + performance.now() - drainedAt;
    if (handled >= events) return ms;
    if (ms > WITHIN_MS) throw new Error(`only ${handled} of ${events} events were handled within ${WITHIN_MS} ms`);
    // To count thousands of rows costs milliseconds, so it is done the seldomer the more there is to wait for.
    await sleep(Math.max(LEAST_POLL_MS, (ms * (events - handled)) / Math.max(handled, events / 10) / 4));
  }
}
