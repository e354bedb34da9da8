import type { Database } from '../postgres/database';
import type { WaitingDelivery } from '../workflows/deliveryMessages';
import { settleRow } from './settleRow';

/** A delivery whose run may be gone. */
export interface Orphan extends WaitingDelivery {
  readonly eventId: string;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly aggregateId: string;
}

/** Taken by one statement: few enough to be started before another worker's sweep takes them for orphans again. */
export const ORPHANS_AT_ONCE = 50;

/** '-infinity' is what a start that failed and a re-emit without Temporal leave: nobody has started that run yet. */
const TAKE = `
  /* outbox: take orphans */
  UPDATE :schema.deliveries d SET touched_at = clock_timestamp()
    FROM (
      SELECT event_id, handler FROM :schema.deliveries
       WHERE state = 'waiting' AND next_at <= clock_timestamp()
         AND (touched_at = '-infinity'
              OR greatest(next_at, touched_at) < clock_timestamp() - $1::float8 * interval '1 millisecond')
       ORDER BY next_at LIMIT ${ORPHANS_AT_ONCE}
         FOR UPDATE SKIP LOCKED
    ) AS o
   WHERE d.event_id = o.event_id AND d.handler = o.handler
  RETURNING d.event_id AS "eventId", d.event_type AS "eventType", d.aggregate_type AS "aggregateType",
            d.aggregate_id AS "aggregateId", d.handler, d.attempts, d.failure_reason AS reason, 0::float8 AS "dueInMs"`;

/**
 * Waiting deliveries that are overdue and that nobody has touched for `afterMs`: their run was terminated, or Temporal
 * was restored from a backup, or it was away when they were written. A run that is there after all takes no notice.
 */
export async function takeOrphans(db: Database, afterMs: number): Promise<Orphan[]> {
  return (await db.query<Orphan>(TAKE, [afterMs])).rows;
}

const FORSAKE = `
  /* outbox: forsake orphans */
  UPDATE :schema.deliveries SET touched_at = '-infinity' WHERE event_id = ANY ($1::uuid[]) AND state = 'waiting'`;

/** Their runs could not be started: the next sweep tries again, and need not wait until they are long overdue. */
export async function forsake(db: Database, eventIds: readonly string[]): Promise<void> {
  await db.query(FORSAKE, [eventIds]);
}

const UNSETTLED = `
  /* outbox: find unsettled rows */
  SELECT q.event_id AS "eventId" FROM :schema.event_queue q
   WHERE q.status = 'retrying'
     AND NOT EXISTS (SELECT FROM :schema.deliveries d WHERE d.event_id = q.event_id AND d.state = 'waiting')
   ORDER BY q.id LIMIT 1000`;

/** Re-emitted at the very moment in which its row was being settled: the row says dead, and a delivery waits. */
const REVIVE = `
  /* outbox: revive rows */
  UPDATE :schema.event_queue q
     SET status = 'retrying', failed_at = NULL, failure_reason = NULL, retry_at = clock_timestamp()
   WHERE q.status = 'dead_lettered'
     AND q.event_id IN (SELECT d.event_id FROM :schema.deliveries d WHERE d.state = 'waiting')`;

/** Rows whose last delivery ended while the process that was to settle them died. @returns how many there were */
export async function settleLeftRows(db: Database): Promise<number> {
  await db.query(REVIVE);
  const { rows } = await db.query<{ eventId: string }>(UNSETTLED);
  await settleRow(
    db,
    rows.map(({ eventId }) => eventId),
  );
  return rows.length;
}
