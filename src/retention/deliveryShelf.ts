import { expired, MOST_BYTES, nobodyWaits, oldEnough, shelfOver } from './shelf';

const NONE_WAITS = `NOT EXISTS (
       SELECT FROM :schema.deliveries w WHERE w.event_id = d.event_id AND w.state = 'waiting')`;

/**
 * What handlers gave up. While the event's row is kept, so are its letters: a row without them would look as if the relay
 * had given it up, and a re-emit would give it to all of its handlers.
 */
const DEAD = `d.state = 'dead' AND ${oldEnough('d.failed_at')} AND ${expired('d.failed_at')}`;
const DEAD_MAY_GO = `${NONE_WAITS}
     AND (SELECT true FROM :schema.event_queue q
           WHERE q.event_id = d.event_id AND q.status <> 'done'
             AND NOT (q.status = 'dead_lettered' AND ${expired('q.failed_at')}) LIMIT 1) IS NOT TRUE`;

/** What an operator gave up on purpose. Its handler still does not run while the ledger remembers it. */
const SKIPPED = `d.state = 'skipped' AND ${oldEnough('d.touched_at')} AND ${expired('d.touched_at')}`;

/** @param time what `old` goes by */
function shelfOf(time: 'failed_at' | 'touched_at', old: string, mayGo: string) {
  const find = `
  /* outbox: find old deliveries */
  WITH page AS MATERIALIZED (
    SELECT ctid, event_id, event_type, ${time}, coalesce(octet_length(body), 0) AS bytes FROM :schema.deliveries d
     WHERE ${old} AND ${time} >= coalesce($2::timestamptz, '-infinity')
     ORDER BY ${time}, event_id LIMIT $3::integer
  ), sized AS (
    SELECT *, sum(bytes) OVER page_order AS running, row_number() OVER page_order AS position
      FROM page WINDOW page_order AS (ORDER BY ${time}, event_id)
  ), taken AS MATERIALIZED (
    SELECT ctid, event_id, event_type, ${time} FROM sized WHERE position = 1 OR running <= ${MOST_BYTES}
  )
  SELECT coalesce((SELECT array_agg(ctid::text) FROM taken d WHERE ${mayGo}), '{}') AS tids,
         CASE WHEN count(*) = $3::integer OR count(*) < (SELECT count(*) FROM page) THEN max(${time})::text END AS after,
         CASE WHEN count(*) = $3::integer OR count(*) < (SELECT count(*) FROM page)
              THEN (max(${time}) + interval '1 microsecond')::text END AS beyond
    FROM taken`;
  // Whoever re-emits or skips it has it locked.
  const remove = `
  /* outbox: prune deliveries */
  DELETE FROM :schema.deliveries
   WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM :schema.deliveries d WHERE ctid = ANY ($2::tid[]) AND ${old} AND ${mayGo} FOR UPDATE SKIP LOCKED))`;
  const count = `/* outbox: count old deliveries */ SELECT count(*)::float8 AS count FROM :schema.deliveries d WHERE ${old} AND ${mayGo}`;
  return shelfOver('deliveries', { find, remove, count });
}

/** By `deliveries_dead_at`. */
export const deadDeliveryShelf = shelfOf('failed_at', DEAD, DEAD_MAY_GO);
/** Reads the table, which holds nothing of healthy events. */
export const skippedShelf = shelfOf('touched_at', SKIPPED, nobodyWaits('d'));
