import type { Database } from '../postgres/database';

const SETTLE = `
  /* outbox: settle row */
  UPDATE :schema.event_queue q
     SET status = CASE WHEN dead.handler IS NULL THEN 'done' ELSE 'dead_lettered' END,
         published_at = CASE WHEN dead.handler IS NULL THEN clock_timestamp() ELSE q.published_at END,
         failed_at = CASE WHEN dead.handler IS NOT NULL THEN clock_timestamp() END,
         failure_reason = dead.reason,
         attempts = greatest(q.attempts, dead.attempts),
         retry_at = NULL
    FROM unnest($1::uuid[]) AS g (event_id)
    LEFT JOIN LATERAL (
      SELECT d.handler, left(d.handler || ': ' || d.failure_reason, 2048) AS reason, d.attempts
        FROM :schema.deliveries d
       WHERE d.event_id = g.event_id AND d.state = 'dead'
       ORDER BY d.failed_at LIMIT 1
    ) AS dead ON true
   WHERE q.event_id = g.event_id AND q.status = 'retrying'
     AND NOT EXISTS (SELECT FROM :schema.deliveries d WHERE d.event_id = g.event_id AND d.state = 'waiting')`;

/**
 * A row of the `db` backend whose handlers are through becomes `done`, or `dead_lettered` when one of them gave up.
 *
 * Called after the commit of whatever may have ended the last delivery, and after the commit that made the row
 * `retrying`: whichever of the two comes second sees what the first wrote. In one statement with either, both could look
 * before the other had committed, and the row would be `retrying` for ever.
 */
export async function settleRow(db: Database, eventIds: readonly string[]): Promise<void> {
  if (eventIds.length > 0) await db.query(SETTLE, [eventIds]);
}
