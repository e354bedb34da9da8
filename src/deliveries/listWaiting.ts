import type { Database } from '../postgres/database';

export const WAITING_STATES = ['pending', 'deferred', 'processing', 'waiting'] as const;

/** An event that is due and not published, or one handler of an event that will be tried again. */
export interface WaitingEvent {
  readonly eventId: string | null;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly aggregateId: string;
  /** Null where the event itself waits for the relay. */
  readonly handler: string | null;
  /** `waiting`: for the handler's next attempt. */
  readonly state: (typeof WAITING_STATES)[number];
  /** Attempts of the handler, or deferrals by the relay. */
  readonly tries: number;
  /** ISO 8601; when it is, or was, to be tried next. */
  readonly nextAt: string | null;
  /** Negative: overdue. */
  readonly dueInMs: number;
  readonly reason: string | null;
}

export interface WaitingFilter {
  readonly eventType?: string | undefined;
  readonly handler?: string | undefined;
  readonly aggregateId?: string | undefined;
  readonly state?: (typeof WAITING_STATES)[number] | undefined;
  readonly limit: number;
}

/** Each part reads one partial index, whose size is the backlog, in its order. Of `pending` only what is due waits. */
const LIST = `
  /* outbox: list waiting */
  SELECT "eventId", "eventType", "aggregateType", "aggregateId", handler, state, tries, reason,
         to_char(next AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "nextAt",
         CASE WHEN isfinite(next) THEN (extract(epoch FROM next - statement_timestamp()) * 1000)::float8 ELSE 0 END AS "dueInMs"
    FROM (
      (SELECT event_id AS "eventId", event_type AS "eventType", aggregate_type AS "aggregateType",
              aggregate_id AS "aggregateId", NULL AS handler, status AS state, deferrals AS tries,
              failure_reason AS reason, coalesce(retry_at, available_at) AS next
         FROM :schema.event_queue
        WHERE status IN ('pending', 'deferred') AND (status = 'deferred' OR available_at <= statement_timestamp())
          AND ($1::text IS NULL OR event_type = $1) AND $2::text IS NULL AND ($3::text IS NULL OR aggregate_id = $3)
          AND ($4::text IS NULL OR status = $4)
        ORDER BY coalesce(retry_at, available_at), id LIMIT $5)
      UNION ALL
      (SELECT event_id, event_type, aggregate_type, aggregate_id, NULL, status, deferrals, failure_reason, claimed_at
         FROM :schema.event_queue
        WHERE status = 'processing'
          AND ($1::text IS NULL OR event_type = $1) AND $2::text IS NULL AND ($3::text IS NULL OR aggregate_id = $3)
          AND ($4::text IS NULL OR status = $4)
        ORDER BY claim_token, claimed_at LIMIT $5)
      UNION ALL
      (SELECT event_id, event_type, aggregate_type, aggregate_id, handler, state, attempts, failure_reason, next_at
         FROM :schema.deliveries
        WHERE state = 'waiting'
          AND ($1::text IS NULL OR event_type = $1) AND ($2::text IS NULL OR handler = $2)
          AND ($3::text IS NULL OR aggregate_id = $3) AND ($4::text IS NULL OR state = $4)
        ORDER BY next_at LIMIT $5)
    ) AS found
   ORDER BY next, "eventId" LIMIT $5`;

/** What waits, the longest overdue first. Bodies are not read. */
export async function listWaiting(db: Database, filter: WaitingFilter): Promise<WaitingEvent[]> {
  const { eventType, handler, aggregateId, state, limit } = filter;
  const { rows } = await db.query<{ [name in keyof WaitingEvent]: WaitingEvent[name] }>(LIST, [
    ...[eventType ?? null, handler ?? null, aggregateId ?? null, state ?? null, limit],
  ]);
  return rows;
}
