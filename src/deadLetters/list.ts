import { binder, type Queryable } from '../postgres/database';
import { schemaOf } from '../postgres/schemaName';
import type { DeadLetterFilter } from '../workflows/messages';
import { filterValues, GIVEN_UP_BY_RELAY, MATCHES, type DeadLetterOptions } from './filter';

/** An event that the relay gave up, or one handler of an event whose attempts ran out. Its body stays in the database. */
export interface DeadLetter {
  readonly eventId: string;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly aggregateId: string;
  readonly companyId: string | null;
  /** Whose attempts ran out; null when the relay gave the event up. */
  readonly handler: string | null;
  readonly failedAt: Date;
  readonly reason: string;
  readonly attempts: number;
  readonly deferrals: number;
}

/**
 * Two ordered index scans, merged. The rows are read no further than the last delivery that can be on the page: in the
 * `db` backend each dead delivery has a dead row too, and a page must not cost a look at all of them.
 */
const LIST_DEAD = `
  /* outbox: list dead letters */
  WITH of_handlers AS MATERIALIZED (
    SELECT event_id, event_type, aggregate_type, aggregate_id, company_id, handler, failed_at, failure_reason, attempts,
           0 AS deferrals, NULL::bigint AS id
      FROM :schema.deliveries
     WHERE state = 'dead' AND ${MATCHES} AND ($4::text IS NULL OR handler = $4)
     ORDER BY failed_at, event_id
     LIMIT $5::integer
  ), of_relay AS (
    SELECT event_id, event_type, aggregate_type, aggregate_id, company_id, NULL::text AS handler, failed_at,
           failure_reason, attempts, deferrals, id
      FROM :schema.event_queue q
     WHERE status = 'dead_lettered' AND $4::text IS NULL AND ${MATCHES}
       AND failed_at <= (SELECT CASE WHEN count(*) < $5::integer THEN 'infinity'::timestamptz ELSE max(failed_at) END
                           FROM of_handlers)
       AND ${GIVEN_UP_BY_RELAY}
     ORDER BY failed_at, id
     LIMIT $5::integer
  )
  SELECT event_id AS "eventId", event_type AS "eventType", aggregate_type AS "aggregateType",
         aggregate_id AS "aggregateId", company_id AS "companyId", handler, failed_at AS "failedAt",
         coalesce(failure_reason, 'no reason was recorded') AS reason, attempts, deferrals
    FROM (SELECT * FROM of_handlers UNION ALL SELECT * FROM of_relay) AS letters
   ORDER BY failed_at, id, event_id, handler
   LIMIT $5::integer`;

/** Dead letters of both kinds, oldest first. @param options.limit default 100 */
export async function listDead(
  db: Queryable,
  options: DeadLetterOptions & DeadLetterFilter & { limit?: number } = {},
): Promise<DeadLetter[]> {
  const bind = binder(schemaOf(options.schema));
  const { rows } = await db.query(bind(LIST_DEAD), [...filterValues(options), options.limit ?? 100]);
  return rows as DeadLetter[];
}
