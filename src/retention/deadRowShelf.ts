import { expired, MOST_BYTES, nobodyWaits, oldEnough, shelfOver } from './shelf';

/** What the relay gave up, and rows whose dead deliveries went just before (`deadDeliveryShelf`). */
const OLD = `q.status = 'dead_lettered' AND ${oldEnough('q.failed_at')} AND ${expired('q.failed_at')}`;

const FIND = `
  /* outbox: find old dead rows */
  WITH page AS MATERIALIZED (
    SELECT ctid, id, event_id, failed_at, payload_bytes FROM :schema.event_queue q
     WHERE ${OLD} AND failed_at >= coalesce($2::timestamptz, '-infinity')
     ORDER BY failed_at, id LIMIT $3::integer
  ), sized AS (
    SELECT ctid, event_id, failed_at, sum(payload_bytes) OVER page_order AS running, row_number() OVER page_order AS position
      FROM page WINDOW page_order AS (ORDER BY failed_at, id)
  ), taken AS MATERIALIZED (
    SELECT ctid, event_id, failed_at FROM sized WHERE position = 1 OR running <= ${MOST_BYTES}
  )
  SELECT coalesce((SELECT array_agg(ctid::text) FROM taken q WHERE ${nobodyWaits('q')}), '{}') AS tids,
         CASE WHEN count(*) = $3::integer OR count(*) < (SELECT count(*) FROM page) THEN max(failed_at)::text END AS after,
         CASE WHEN count(*) = $3::integer OR count(*) < (SELECT count(*) FROM page)
              THEN (max(failed_at) + interval '1 microsecond')::text END AS beyond
    FROM taken`;

/** Locks first, as for rows that are done. */
const LOCK = `
  /* outbox: lock old dead rows */
  SELECT ctid::text AS tid FROM :schema.event_queue q WHERE ctid = ANY ($2::tid[]) AND ${OLD} FOR UPDATE SKIP LOCKED`;
const REMOVE = `/* outbox: prune dead rows */ DELETE FROM :schema.event_queue q WHERE ctid = ANY ($1::tid[]) AND ${nobodyWaits('q')}`;

/** Its dead deliveries go just before it, if all of them are old enough. */
const COUNT = `
  /* outbox: count old dead rows */
  SELECT count(*)::float8 AS count FROM :schema.event_queue q
   WHERE ${OLD} AND NOT EXISTS (
     SELECT FROM :schema.deliveries d
      WHERE d.event_id = q.event_id
        AND (d.state = 'waiting' OR (d.state = 'dead' AND (${expired('d.failed_at')}) IS NOT TRUE)))`;

/** By `event_queue_dead_at`. */
export const deadRowShelf = shelfOver('event_queue', { find: FIND, lock: LOCK, remove: REMOVE, count: COUNT });
