import { wakeChannel } from '../postgres/channel';
import { binder, type Queryable } from '../postgres/database';
import { schemaOf } from '../postgres/schemaName';
import type { DeadLetterFilter, ReemitAllResult } from '../workflows/messages';
import { filterValues, GIVEN_UP_BY_RELAY, MATCHES, type DeadLetterOptions } from './filter';
import { REVIVE_DELIVERY, revivedEvent, type RevivedEvent } from './reemit';

/** Dead letters revived by one statement: small enough to hold no lock for long, large enough for a million of them. */
const CHUNK = 5_000;

const DELIVERIES_CHUNK = `
  /* outbox: re-emit all of handlers */
  WITH dead AS MATERIALIZED (
    SELECT event_id, handler FROM :schema.deliveries
     WHERE state = 'dead' AND failed_at <= $5::timestamptz AND ${MATCHES} AND ($4::text IS NULL OR handler = $4)
     ORDER BY failed_at, event_id LIMIT ${CHUNK}
       FOR UPDATE SKIP LOCKED
  ), handed AS (${REVIVE_DELIVERY}
      FROM dead WHERE d.event_id = dead.event_id AND d.handler = dead.handler
    RETURNING d.event_id, d.handler, d.event_type, d.aggregate_type, d.aggregate_id
  ), given_up AS MATERIALIZED (
    SELECT id FROM :schema.event_queue
     WHERE status = 'dead_lettered' AND event_id = ANY (ARRAY(SELECT event_id FROM handed))
     ORDER BY id
       FOR UPDATE
  ), retrying AS (
    UPDATE :schema.event_queue q
       SET status = 'retrying', retry_at = clock_timestamp(), attempts = 0, deferrals = 0, failed_at = NULL,
           failure_reason = NULL
      FROM given_up WHERE q.id = given_up.id
  )
  SELECT event_id AS id, min(event_type) AS "eventType", min(aggregate_type) AS "aggregateType",
         min(aggregate_id) AS "aggregateId", array_agg(handler ORDER BY handler) AS handlers
    FROM handed GROUP BY event_id`;

interface ChunkRow {
  readonly id: string;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly aggregateId: string;
  readonly handlers: readonly string[];
}

const ROWS_CHUNK = `
  /* outbox: re-emit all of the relay */
  WITH revived AS (
    UPDATE :schema.event_queue
       SET status = 'pending', attempts = 0, deferrals = 0, failed_at = NULL, failure_reason = NULL, retry_at = NULL
     WHERE id = ANY (ARRAY(
       SELECT id FROM :schema.event_queue q
        WHERE status = 'dead_lettered' AND failed_at <= $5::timestamptz AND $4::text IS NULL AND ${MATCHES}
          AND ${GIVEN_UP_BY_RELAY}
        ORDER BY failed_at, id LIMIT ${CHUNK}
          FOR UPDATE SKIP LOCKED))
    RETURNING 1
  )
  SELECT count(*)::integer AS revived, (SELECT pg_notify($6, '') FROM (SELECT FROM revived LIMIT 1) AS any_revived)::text AS woken
    FROM revived`;

export interface ReemitAllOptions extends DeadLetterOptions {
  /** Told after each statement that revived something: how many so far, and the runs to be started for its part. */
  readonly onChunk?: (revived: number, deliveries: readonly RevivedEvent[]) => void;
}

/**
 * Revives every dead letter that matches, in statements of 5,000: first those of handlers, then those of the relay,
 * unless the filter names a handler. What dies again meanwhile is left dead: the time of the call is the limit, else one
 * that dies at once could be revived for ever.
 */
export async function reemitAll(
  db: Queryable,
  filter: DeadLetterFilter = {},
  options: ReemitAllOptions = {},
): Promise<ReemitAllResult> {
  const schema = schemaOf(options.schema);
  const bind = binder(schema);
  const { rows } = await db.query(`/* outbox: time of a re-emit */ SELECT clock_timestamp()::text AS now`);
  const values = [...filterValues(filter), (rows[0] as { now: string }).now];
  let revived = 0;
  const more = (count: number, deliveries: readonly RevivedEvent[]) => {
    revived += count;
    if (count > 0) options.onChunk?.(revived, deliveries);
    return count === CHUNK;
  };

  const deliveriesChunk = async () => {
    const events = (await db.query(bind(DELIVERIES_CHUNK), values)).rows as ChunkRow[];
    const count = events.reduce((sum, { handlers }) => sum + handlers.length, 0);
    return more(
      count,
      events.map((row) => revivedEvent(row.id, row)),
    );
  };
  const rowsChunk = async () => {
    const chunk = await db.query(bind(ROWS_CHUNK), [...values, wakeChannel(schema)]);
    return more((chunk.rows[0] as { revived: number }).revived, []);
  };
  while (await deliveriesChunk());
  if (filter.handler === undefined) while (await rowsChunk());
  return { revived };
}
