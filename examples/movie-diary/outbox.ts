import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { listDead } from 'temporal-outbox';

const SCHEMA = process.env.OUTBOX_SCHEMA ?? 'public';

/** Rows that are not in a final state yet. */
export async function unsettled(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM "${SCHEMA}".event_queue
      WHERE status IN ('pending', 'deferred') OR status = 'processing' OR status = 'retrying'`,
  );
  return rows[0]?.count ?? 0;
}

/** Resolves when the relay has nothing left to do. */
export async function settled(pool: Pool, signal: AbortSignal, onProgress: (left: number) => void): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const left = await unsettled(pool);
    onProgress(left);
    if (left === 0) return;
    await sleep(100, undefined, { signal });
  }
}

/** How many of these events the relay gave up. */
export async function countDead(pool: Pool, ids: ReadonlySet<string>): Promise<number> {
  const dead = await listDead(pool, { limit: 10_000 });
  return dead.filter(({ eventId }) => ids.has(eventId)).length;
}
