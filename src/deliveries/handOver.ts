import type { IncomingEvent } from '../handlers/incoming';
import { startedAt } from '../ledger/claim';
import type { Database } from '../postgres/database';
import type { WaitingDelivery } from '../workflows/deliveryMessages';

/** A handling that the fast path could not finish. */
export interface HandOver {
  readonly event: IncomingEvent;
  readonly handler: string;
  /** Owner token of the ledger claim that is given up with it; null when the handling never had one. */
  readonly startedAt: number | null;
  /** Attempts that this adds: 1 for a failure or a lost worker, 0 for a deferral. */
  readonly attempts: number;
  readonly dueInMs: number;
  readonly reason: string;
  readonly dead: boolean;
}

/** What stands in `deliveries` afterwards; a run sees it through. */
export interface HandedOver extends WaitingDelivery {
  readonly eventId: string;
}

/**
 * Release and insert are one statement: between the two, another worker's claim would find neither and begin at once.
 * The claim of a worker that was taken over is not there to release; its successor sees the delivery through.
 *
 * A row that is to hold the body is locked until the delivery is there: retention removes what nothing waits for.
 *
 * Whoever only waits for another's claim never changes a delivery that is there: its owner may have failed meanwhile, and
 * its due time and reason are the right ones. Of two hand-overs of one handling in one statement the owner's counts.
 */
const HAND_OVER = `
  /* outbox: hand over */
  WITH given AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS g (
      event_id uuid, handler text, started float8, attempts integer, due float8, reason text, dead boolean, source text,
      event_type text, aggregate_type text, aggregate_id text, company_id uuid, record jsonb, body text)
  ), released AS (
    DELETE FROM :schema.processed_events p USING given g
     WHERE p.event_id = g.event_id AND p.handler = g.handler
       AND p.status = 'in_progress' AND p.started_at = ${startedAt('g.started')}
    RETURNING p.event_id, p.handler
  ), placed AS (
    SELECT g.*, g.source = 'outbox' OR EXISTS (SELECT FROM :schema.event_queue q WHERE q.event_id = g.event_id FOR KEY SHARE) AS in_outbox
      FROM given g
     WHERE g.started IS NULL
        OR EXISTS (SELECT FROM released r WHERE r.event_id = g.event_id AND r.handler = g.handler)
  )
  INSERT INTO :schema.deliveries AS d (event_id, handler, state, attempts, next_at, failed_at, failure_reason, source,
    event_type, aggregate_type, aggregate_id, company_id, record, body)
  SELECT event_id, handler, CASE WHEN dead THEN 'dead' ELSE 'waiting' END, attempts,
         CASE WHEN NOT dead THEN clock_timestamp() + due * interval '1 millisecond' END,
         CASE WHEN dead THEN clock_timestamp() END, reason,
         CASE WHEN in_outbox THEN 'outbox' ELSE source END, event_type, aggregate_type, aggregate_id, company_id,
         CASE WHEN NOT in_outbox THEN record END, CASE WHEN NOT in_outbox THEN decode(body, 'base64') END
    FROM (SELECT DISTINCT ON (event_id, handler) * FROM placed ORDER BY event_id, handler, started) AS once
  ON CONFLICT (event_id, handler) DO UPDATE
     SET attempts = d.attempts + excluded.attempts, state = excluded.state, next_at = excluded.next_at,
         failed_at = excluded.failed_at, failure_reason = excluded.failure_reason, touched_at = clock_timestamp()
   WHERE d.state = 'waiting'
     AND EXISTS (SELECT FROM released r WHERE r.event_id = excluded.event_id AND r.handler = excluded.handler)
  RETURNING event_id AS "eventId", handler, attempts, failure_reason AS reason, state = 'dead' AS dead,
            coalesce(extract(epoch FROM next_at - clock_timestamp()) * 1000, 0)::float8 AS "dueInMs"`;

/** Gives handlings up to delivery runs, any number in one statement. Claims that are not ours any more are left alone. */
export async function handOver(db: Database, given: readonly HandOver[]): Promise<HandedOver[]> {
  const { rows } = await db.query<HandedOver>(HAND_OVER, [JSON.stringify(given.map(recordOf))]);
  return rows.map((row) => ({ ...row, dueInMs: Math.max(0, row.dueInMs) }));
}

function recordOf({ event, handler, startedAt: started, attempts, dueInMs, reason, dead }: HandOver): unknown {
  const { payload, source, ...record } = event;
  const common = {
    ...{ event_id: event.eventId, handler, started, attempts, due: dueInMs, reason, dead, source },
    ...{ event_type: event.eventType, aggregate_type: event.aggregateType, aggregate_id: event.aggregateId },
    company_id: event.companyId,
  };
  // An event of the outbox stays there; a stream's may be gone before its delivery run is.
  if (source === 'outbox') return common;
  return { ...common, record, body: Buffer.from(payload).toString('base64') };
}
