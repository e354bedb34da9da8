import { nobodyWaits, oldEnough, shelfOver } from './shelf';

/**
 * Done longer ago than the ledger remembers. What is in progress has no `processed_at` and is never old. An event that
 * waits or is dead somewhere may be given to its handlers again, so all that is known of it stays.
 */
const OLD = `p.status = 'done' AND ${oldEnough('p.processed_at')}`;
const SETTLED = `${nobodyWaits('p')}
     AND (SELECT true FROM :schema.event_queue q WHERE q.event_id = p.event_id AND q.status <> 'done' LIMIT 1) IS NOT TRUE`;

/** One range of `processed_events_done_at`, which ends at the age. */
const FIND = `
  /* outbox: find old ledger */
  WITH page AS MATERIALIZED (
    SELECT ctid, event_id, processed_at FROM :schema.processed_events p
     WHERE ${OLD} AND processed_at >= coalesce($2::timestamptz, '-infinity')
     ORDER BY processed_at LIMIT $3::integer
  )
  SELECT coalesce((SELECT array_agg(ctid::text) FROM page p WHERE ${SETTLED}), '{}') AS tids,
         CASE WHEN count(*) = $3::integer THEN max(processed_at)::text END AS after,
         CASE WHEN count(*) = $3::integer THEN (max(processed_at) + interval '1 microsecond')::text END AS beyond
    FROM page`;

/** By place, so that no key is looked up: to an index, a deletion is no news. */
const REMOVE = `
  /* outbox: prune ledger */
  DELETE FROM :schema.processed_events
   WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM :schema.processed_events p
      WHERE ctid = ANY ($2::tid[]) AND ${OLD} AND ${SETTLED}
        FOR UPDATE SKIP LOCKED))`;

const COUNT = `/* outbox: count old ledger */ SELECT count(*)::float8 AS count FROM :schema.processed_events p WHERE ${OLD} AND ${SETTLED}`;

export const ledgerShelf = shelfOver('processed_events', { find: FIND, remove: REMOVE, count: COUNT });
