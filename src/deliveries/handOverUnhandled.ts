import type { Database } from '../postgres/database';

interface Unhandled {
  readonly eventId: string;
  readonly handler: string;
}

/**
 * A waiting delivery for each handling of which neither ledger nor deliveries know anything, of events whose row stands in
 * the outbox. `-infinity`: nobody has started its run, so the next sweep does. A claim of the ledger refuses an event that
 * has a delivery, and an attempt finds what is done meanwhile, so whoever handles it at this moment is not disturbed.
 */
const HAND_OVER = `
  /* outbox: hand over unhandled */
  INSERT INTO :schema.deliveries (event_id, handler, state, attempts, next_at, failure_reason, source, touched_at,
    event_type, aggregate_type, aggregate_id, company_id)
  SELECT q.event_id, g.handler, 'waiting', 0, clock_timestamp(), 'it was found unhandled, and handed over by an operator',
         'outbox', '-infinity', q.event_type, q.aggregate_type, q.aggregate_id, q.company_id
    FROM unnest($1::uuid[], $2::text[]) AS g (event_id, handler)
    JOIN :schema.event_queue q ON q.event_id = g.event_id AND q.status = 'done'
   WHERE NOT EXISTS (SELECT FROM :schema.processed_events p WHERE p.event_id = g.event_id AND p.handler = g.handler)
  ON CONFLICT (event_id, handler) DO NOTHING`;

/** @returns how many handlings wait now; the others stand in no outbox, or were begun meanwhile */
export async function handOverUnhandled(db: Database, unhandled: readonly Unhandled[]): Promise<number> {
  if (unhandled.length === 0) return 0;
  const { rowCount } = await db.query(HAND_OVER, [
    unhandled.map(({ eventId }) => eventId),
    unhandled.map(({ handler }) => handler),
  ]);
  return rowCount ?? 0;
}
