import type { Pool } from 'pg';
import { listDead, type DeadLetter } from 'temporal-outbox';

const SCHEMA = process.env.OUTBOX_SCHEMA ?? 'public';

/** Rows that are not in a final state yet. */
export async function countUnsettled(pool: Pool): Promise<number> {
  return count(
    pool,
    `SELECT count(*)::integer AS count FROM "${SCHEMA}".event_queue
      WHERE status IN ('pending', 'deferred') OR status = 'processing' OR status = 'retrying'`,
  );
}

/** How many of these events are finished. */
export async function countDone(pool: Pool, eventIds: ReadonlySet<string>): Promise<number> {
  return count(
    pool,
    `SELECT count(*)::integer AS count FROM "${SCHEMA}".event_queue
      WHERE status = 'done' AND event_id = ANY ($1::uuid[])`,
    [[...eventIds]],
  );
}

/** Entries of the ledger: effects of a handler for one of these events. */
export async function countHandled(pool: Pool, eventIds: ReadonlySet<string>): Promise<number> {
  return count(
    pool,
    `SELECT count(*)::integer AS count FROM "${SCHEMA}".processed_events
      WHERE status = 'done' AND event_id = ANY ($1::uuid[])`,
    [[...eventIds]],
  );
}

/** When the last effect of any event was entered; null when there is none yet. */
export async function lastHandledAt(pool: Pool): Promise<string | null> {
  const { rows } = await pool.query<{ at: string | null }>(
    `SELECT max(processed_at)::text AS at FROM "${SCHEMA}".processed_events WHERE status = 'done'`,
  );
  return rows[0]?.at ?? null;
}

/** The dead letters among these events; those of earlier runs, and of other applications, are not ours to mend. */
export async function findDead(pool: Pool, eventIds: ReadonlySet<string>): Promise<DeadLetter[]> {
  const letters = await listDead(pool, { limit: 10_000 });
  return letters.filter(({ eventId }) => eventIds.has(eventId));
}

async function count(pool: Pool, sql: string, values: unknown[] = []): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(sql, values);
  return rows[0]?.count ?? 0;
}
