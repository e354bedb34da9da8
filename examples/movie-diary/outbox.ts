import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';

const SCHEMA = process.env.OUTBOX_SCHEMA ?? 'public';

/** Rows that are not in a final state yet. */
export async function unsettled(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM "${SCHEMA}".event_queue
      WHERE status IN ('pending', 'deferred') OR status = 'processing' OR status = 'retrying'`,
  );
  return rows[0]?.count ?? 0;
}

/** After so long without progress something is in the way, and whoever watches is told where to look. */
const NOTE_AFTER_MS = 10_000;

/**
 * Resolves when the relay has nothing left to do.
 *
 * @throws Error when it published nothing for `patienceMs`
 */
export async function settled(
  pool: Pool,
  signal: AbortSignal,
  onProgress: (left: number) => void,
  patienceMs: number,
): Promise<void> {
  let before = Infinity;
  let since = performance.now();
  let told = false;
  for (;;) {
    signal.throwIfAborted();
    const left = await unsettled(pool);
    onProgress(left);
    if (left === 0) return;
    if (left < before) since = performance.now();
    before = Math.min(before, left);
    const still = performance.now() - since;
    if (still > patienceMs) {
      throw new Error(
        `${left} events wait, and the relay has published nothing for ${Math.round(still / 1_000)} s: ${LOOK}`,
      );
    }
    if (still > NOTE_AFTER_MS && !told) {
      told = true;
      console.log(`\n${left} events wait, and the relay publishes nothing: ${LOOK}`);
    }
    await sleep(100, undefined, { signal });
  }
}

const LOOK = '`npx outbox status` says why, and `npx outbox resume` ends a pause of an earlier run.';

