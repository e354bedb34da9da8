import type { Database } from '../postgres/database';

/**
 * Unowned is an event of which neither ledger nor deliveries know anything, or of which a claim was left behind by a
 * worker that is gone. An event that some handlers have done is not: a handler that was added later has no row for any
 * of the events before it, and each of them would become a dead letter.
 */
const FIND = `
  /* outbox: find unowned */
  SELECT g.event_id AS "eventId"
    FROM unnest($1::uuid[], $2::text[]) AS g (event_id, handler)
    LEFT JOIN :schema.processed_events p USING (event_id, handler)
    LEFT JOIN :schema.deliveries d USING (event_id, handler)
   GROUP BY g.event_id
  HAVING bool_and(p.event_id IS NULL AND d.event_id IS NULL)
      OR bool_or(d.event_id IS NULL AND p.status = 'in_progress'
                 AND coalesce(p.lease_until, p.started_at + $3::float8 * interval '1 millisecond') <= clock_timestamp())`;

/** Which of these events nobody is at work on, has finished or has waiting. */
export async function findUnowned(
  db: Database,
  given: readonly { readonly eventId: string; readonly handlers: readonly string[] }[],
  { maxLeaseMs }: { readonly maxLeaseMs: number },
): Promise<Set<string>> {
  const keys = given.flatMap(({ eventId, handlers }) => handlers.map((handler) => ({ eventId, handler })));
  if (keys.length === 0) return new Set();
  const { rows } = await db.query<{ eventId: string }>(FIND, [
    keys.map(({ eventId }) => eventId),
    keys.map(({ handler }) => handler),
    maxLeaseMs,
  ]);
  return new Set(rows.map(({ eventId }) => eventId));
}
