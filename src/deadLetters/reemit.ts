import { UUID } from '../event';
import { wakeChannel } from '../postgres/channel';
import { binder, type Queryable } from '../postgres/database';
import { schemaOf } from '../postgres/schemaName';
import type { WaitingDelivery } from '../workflows/deliveryMessages';
import type { ReemitResult } from '../workflows/messages';
import type { DeadLetterOptions } from './filter';

/** An event with handlers that wait again: what its delivery run is started with. */
export interface RevivedEvent {
  readonly eventId: string;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly aggregateId: string;
  readonly waiting: readonly WaitingDelivery[];
}

export interface Reemitted extends ReemitResult {
  /** Runs to be started. Whoever does not is helped by the sweep of a worker, which takes these for orphans at once. */
  readonly deliveries: readonly RevivedEvent[];
}

/** Waiting, due now, with a full budget; the sweep starts its run at its next look unless somebody else does. */
export const REVIVE_DELIVERY = `
    UPDATE :schema.deliveries d
       SET state = 'waiting', attempts = 0, next_at = clock_timestamp(), failure_reason = NULL, failed_at = NULL,
           touched_at = '-infinity'`;

/**
 * Deliveries first, then rows, each in the order of its key: so does whoever else writes both, and nobody deadlocks.
 * A row with a delivery that waits or is dead is never set to `pending`, which would give it to the relay once more.
 */
const REEMIT = `
  /* outbox: re-emit */
  WITH asked AS MATERIALIZED (
    SELECT DISTINCT unnest($1::uuid[]) AS event_id
  ), dead AS MATERIALIZED (
    SELECT event_id, handler FROM :schema.deliveries
     WHERE event_id = ANY ($1::uuid[]) AND state = 'dead' AND ($3::text IS NULL OR handler = $3)
     ORDER BY event_id, handler
       FOR UPDATE
  ), handed AS (${REVIVE_DELIVERY}
      FROM dead WHERE d.event_id = dead.event_id AND d.handler = dead.handler
    RETURNING d.event_id, d.handler, d.event_type, d.aggregate_type, d.aggregate_id
  ), by_event AS MATERIALIZED (
    SELECT event_id, min(event_type) AS event_type, min(aggregate_type) AS aggregate_type,
           min(aggregate_id) AS aggregate_id, array_agg(handler ORDER BY handler) AS handlers
      FROM handed GROUP BY event_id
  ), given_up AS MATERIALIZED (
    SELECT id, event_id IN (SELECT event_id FROM by_event) AS by_handlers
      FROM :schema.event_queue q
     WHERE event_id = ANY ($1::uuid[]) AND status = 'dead_lettered'
       AND (event_id IN (SELECT event_id FROM by_event)
            OR ($3::text IS NULL AND NOT EXISTS (
              SELECT FROM :schema.deliveries d WHERE d.event_id = q.event_id AND d.state <> 'skipped')))
     ORDER BY id
       FOR UPDATE OF q
  ), revived AS (
    UPDATE :schema.event_queue q
       SET status = CASE WHEN by_handlers THEN 'retrying' ELSE 'pending' END,
           retry_at = CASE WHEN by_handlers THEN clock_timestamp() END,
           attempts = 0, deferrals = 0, failed_at = NULL, failure_reason = NULL
      FROM given_up WHERE q.id = given_up.id
    RETURNING q.event_id, by_handlers
  ), woken AS (
    SELECT pg_notify($2, '') FROM (SELECT FROM revived WHERE NOT by_handlers LIMIT 1) AS any_pending
  )
  SELECT asked.event_id AS id, revived.event_id IS NOT NULL OR handlers IS NOT NULL AS revived, q.status, states,
         handlers, h.event_type AS "eventType", h.aggregate_type AS "aggregateType", h.aggregate_id AS "aggregateId",
         (SELECT count(*) FROM woken) AS woken
    FROM asked
    LEFT JOIN revived USING (event_id)
    LEFT JOIN by_event h USING (event_id)
    LEFT JOIN :schema.event_queue q USING (event_id)
    LEFT JOIN LATERAL (
      SELECT jsonb_object_agg(handler, state) AS states FROM :schema.deliveries d WHERE d.event_id = asked.event_id
    ) AS seen ON true`;

interface ReemitRow extends Revived {
  readonly id: string;
  readonly revived: boolean;
  /** As the statement found it. */
  readonly status: string | null;
  readonly states: Readonly<Record<string, string>> | null;
}

interface Revived {
  readonly handlers: readonly string[] | null;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly aggregateId: string;
}

/**
 * Hands dead letters back with a fresh budget. What the relay gave up is pending again; what handlers gave up waits for
 * them again, due now. Attempts and deferrals are 0, the reason is cleared. What is not a dead letter is not changed, and
 * is reported with the reason; asking twice is harmless.
 *
 * @param options.handler only dead letters of this handler, so none of the relay's
 */
export async function reemit(
  db: Queryable,
  ids: readonly string[],
  options: DeadLetterOptions & { readonly handler?: string | undefined } = {},
): Promise<Reemitted> {
  const schema = schemaOf(options.schema);
  const wellFormed = ids.filter((id) => UUID.test(id));
  const refused = ids
    .filter((id) => !UUID.test(id))
    .map((id) => ({ id: id.slice(0, 100), reason: 'not an event id: an event id is a UUID' }));
  if (wellFormed.length === 0) return { revived: [], refused, deliveries: [] };
  const values = [wellFormed, wakeChannel(schema), options.handler ?? null];
  const rows = (await db.query(binder(schema)(REEMIT), values)).rows as ReemitRow[];
  return {
    revived: rows.filter((row) => row.revived).map((row) => row.id),
    refused: [
      ...refused,
      ...rows.filter((row) => !row.revived).map((row) => ({ id: row.id, reason: whyNot(row, options.handler) })),
    ],
    deliveries: rows.flatMap((row) => (row.handlers ? [revivedEvent(row.id, row)] : [])),
  };
}

export function revivedEvent(eventId: string, row: Revived): RevivedEvent {
  const { eventType, aggregateType, aggregateId } = row;
  const waiting = (row.handlers ?? []).map((handler) => ({ handler, attempts: 0, dueInMs: 0, reason: null }));
  return { eventId, eventType, aggregateType, aggregateId, waiting };
}

function whyNot({ status, states }: ReemitRow, handler: string | undefined): string {
  if (status === null && states === null) return 'unknown: no event of this id is known here';
  const of = (state: string) =>
    Object.entries(states ?? {})
      .filter(([name, found]) => found === state && (handler === undefined || name === handler))
      .map(([name]) => name);
  // The statement saw it dead, and found it taken when it came to change it.
  if (of('dead').length > 0) return 'dead: somebody else revived it at the same moment';
  const waiting = of('waiting');
  if (waiting.length > 0) return `waiting: it is not a dead letter, ${waiting.join(', ')} will be tried again`;
  if (of('skipped').length > 0 && (status === null || handler !== undefined))
    return 'skipped: an operator has skipped it, so there is nothing to revive';
  if (handler !== undefined || status === null)
    return `${status ?? 'not here'}: it is no dead letter of the handler ${handler}`;
  if (status === 'dead_lettered') return 'dead_lettered: somebody else revived it at the same moment';
  if (status === 'done') return 'done: it was published or handled, so there is nothing to revive';
  return `${status}: it is not a dead letter, the relay still works on it`;
}
