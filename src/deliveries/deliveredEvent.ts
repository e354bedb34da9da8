import type { EventRecord } from '../event';
import type { Database } from '../postgres/database';
import type { DeliveryKey } from './attempt';

const READ = `
  /* outbox: read delivery */
  SELECT d.source, d.record, d.body,
         CASE WHEN isfinite(q.available_at)
              THEN (extract(epoch FROM clock_timestamp() - q.available_at) * 1000)::float8 END AS "ageMs",
         q.event_type AS "eventType", q.aggregate_type AS "aggregateType", q.aggregate_id AS "aggregateId",
         q.company_id AS "companyId", q.org_unit_id AS "orgUnitId", q.payload::text AS payload, q.headers, q.version,
         q.correlation_id AS "correlationId", q.causation_id AS "causationId",
         coalesce(to_char(q.occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), q.occurred_at::text) AS "occurredAt"
    FROM :schema.deliveries d
    LEFT JOIN :schema.event_queue q ON q.event_id = d.event_id
   WHERE d.event_id = $1 AND d.handler = $2`;

/** An event of a delivery; `ageMs` since it was due, by the database's clock, NaN where the outbox has no row of it. */
export type DeliveredEvent = EventRecord & { readonly ageMs: number };

type ReadRow = Omit<EventRecord, 'eventId'> & {
  readonly ageMs: number | null;
  readonly source: string;
  readonly record: Omit<EventRecord, 'payload'> | null;
  /** Of a foreign publisher; PostgreSQL holds neither NUL nor broken UTF-8 as text. */
  readonly body: Buffer | null;
};

/** The event of a delivery, from the outbox or from its copy. @returns undefined when neither is there any more */
export async function readDeliveryEvent(db: Database, key: DeliveryKey): Promise<DeliveredEvent | undefined> {
  const { rows } = await db.query<ReadRow>(READ, [key.eventId, key.handler]);
  const row = rows[0];
  if (!row) return undefined;
  const { source, record, body, ...queued } = row;
  const ageMs = row.ageMs ?? NaN;
  if (source !== 'outbox') return record && body !== null ? { ...record, payload: body.toString(), ageMs } : undefined;
  // Null in a row that a LEFT JOIN did not find.
  return (queued.payload as string | null) === null ? undefined : { eventId: key.eventId, ...queued, ageMs };
}
