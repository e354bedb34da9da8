import type { IncomingEvent } from '../handlers/incoming';
import type { Database } from '../postgres/database';

/** An event that the broker delivers no more, with the handlers that take it. */
export interface ExhaustedEvent {
  readonly event: IncomingEvent;
  readonly handlers: readonly string[];
  readonly deliveries: number;
}

export interface RecordedExhausted {
  readonly eventId: string;
  readonly handler: string;
  /** `held`: somebody is at work on it still; ask again when that lease is over. */
  readonly kind: 'recorded' | 'held';
}

/**
 * A claim whose lease is over is given up with it, as in a hand-over: the worker that held it is gone, and the broker
 * sends nobody else. A claim that was renewed meanwhile is left alone, and so is what is done or has a delivery: its run finds
 * the worker lost, and counts that. A row that is to hold the body is locked until the letter is there, as in a hand-over.
 */
const RECORD = `
  /* outbox: record exhausted */
  WITH given AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS g (
      event_id uuid, handler text, attempts integer, reason text, source text,
      event_type text, aggregate_type text, aggregate_id text, company_id uuid, record jsonb, body integer)
  ), released AS (
    DELETE FROM :schema.processed_events p USING given g
     WHERE p.event_id = g.event_id AND p.handler = g.handler AND p.status = 'in_progress'
       AND coalesce(p.lease_until, p.started_at + $2::float8 * interval '1 millisecond') <= clock_timestamp()
       AND NOT EXISTS (SELECT FROM :schema.deliveries d WHERE d.event_id = g.event_id AND d.handler = g.handler)
    RETURNING p.event_id, p.handler
  ), claims AS (
    SELECT p.event_id, p.handler, p.status FROM :schema.processed_events p JOIN given USING (event_id, handler)
     WHERE NOT EXISTS (SELECT FROM released r WHERE r.event_id = p.event_id AND r.handler = p.handler)
  ), placed AS (
    SELECT g.*, EXISTS (SELECT FROM :schema.event_queue q WHERE q.event_id = g.event_id FOR KEY SHARE) AS in_outbox
      FROM given g
     WHERE NOT EXISTS (SELECT FROM claims c WHERE c.event_id = g.event_id AND c.handler = g.handler)
  ), recorded AS (
    INSERT INTO :schema.deliveries (event_id, handler, state, attempts, failed_at, failure_reason, source,
      event_type, aggregate_type, aggregate_id, company_id, record, body)
    SELECT event_id, handler, 'dead', attempts, clock_timestamp(), reason, CASE WHEN in_outbox THEN 'outbox' ELSE source END,
           event_type, aggregate_type, aggregate_id, company_id,
           CASE WHEN NOT in_outbox THEN record END, CASE WHEN NOT in_outbox THEN decode(($3::text[])[body], 'base64') END
      FROM placed ORDER BY event_id, handler
    ON CONFLICT (event_id, handler) DO NOTHING
    RETURNING event_id, handler
  )
  SELECT event_id AS "eventId", handler, 'recorded' AS kind FROM recorded
  UNION ALL
  SELECT event_id, handler, 'held' FROM claims WHERE status = 'in_progress'`;

/**
 * Makes dead letters of what the broker gave up, in one statement: all bodies together must be some MiB at most. Never
 * of what is handled, claimed or waiting; a second time finds nothing left to do. An event has those of all its handlers
 * or none: one that had some would not count as unowned any more.
 */
export async function recordExhausted(
  db: Database,
  given: readonly ExhaustedEvent[],
  { maxLeaseMs }: { readonly maxLeaseMs: number },
): Promise<RecordedExhausted[]> {
  const records = given.flatMap((one, index) => one.handlers.map((handler) => recordOf(one, handler, index + 1)));
  if (records.length === 0) return [];
  const { rows } = await db.query<{ [name in keyof RecordedExhausted]: RecordedExhausted[name] }>(RECORD, [
    JSON.stringify(records),
    maxLeaseMs,
    // Apart, and once for all handlers of an event: with many of them a jsonb, which has 256 MiB at most, would be too small.
    given.map(({ event }) => Buffer.from(event.payload).toString('base64')),
  ]);
  return rows;
}

export function exhaustedReason(deliveries: number): string {
  return `delivered ${deliveries} times without an outcome`;
}

/** @param body its place among the bodies, from 1 */
function recordOf({ event, deliveries }: ExhaustedEvent, handler: string, body: number): unknown {
  const { payload: _payload, source, ...record } = event;
  return {
    ...{ event_id: event.eventId, handler, attempts: deliveries, reason: exhaustedReason(deliveries), source },
    ...{ event_type: event.eventType, aggregate_type: event.aggregateType, aggregate_id: event.aggregateId },
    ...{ company_id: event.companyId, record, body },
  };
}
