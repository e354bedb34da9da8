import type { Database } from '../postgres/database';

const PRUNE = `
  DELETE FROM :schema.processed_events
   WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM :schema.processed_events
      WHERE status = 'done' AND processed_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
      ORDER BY processed_at LIMIT $2::integer
        FOR UPDATE SKIP LOCKED))`;

/** Small, so that a statement time-out of two seconds and a claim beside it never notice (C49). */
export const PRUNE_CHUNK = 1_000;

/**
 * Forgets handlings that have been done for longer than the retention. What is in progress is never touched.
 *
 * @returns rows forgotten; fewer than PRUNE_CHUNK when there are no more
 */
export async function pruneLedger(db: Database, retentionMs: number): Promise<number> {
  return (await db.query(PRUNE, [retentionMs, PRUNE_CHUNK])).rowCount ?? 0;
}
