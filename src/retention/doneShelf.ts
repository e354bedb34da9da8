import { ages, expired, MOST_BYTES, nobodyWaits, oldEnough, shelfOver, type Shelf } from './shelf';

const OLD = `q.status = 'done' AND ${expired('q.published_at')}`;

/**
 * Along the primary key, so that no index has to be written for each event that is ever done. Ids grow with time, so that
 * what is old comes first. What stays is read again by each run: dead letters, and types that are kept for longer.
 */
const FIND = `
  /* outbox: find old done rows */
  WITH page AS MATERIALIZED (
    SELECT ctid, id, event_id, event_type, status, available_at, published_at, payload_bytes FROM :schema.event_queue
     WHERE id > coalesce($2::bigint, -9223372036854775808) ORDER BY id LIMIT $4::integer
  ), due AS MATERIALIZED (
    SELECT ctid, id, row_number() OVER (ORDER BY id) AS position, sum(payload_bytes) OVER (ORDER BY id) AS running
      FROM page q WHERE ${OLD} AND ${nobodyWaits('q')}
  ), taken AS MATERIALIZED (
    SELECT ctid, id FROM due WHERE position = 1 OR (position <= $3::integer AND running <= ${MOST_BYTES})
  )
  SELECT coalesce((SELECT array_agg(ctid::text) FROM taken), '{}') AS tids,
         CASE WHEN (SELECT count(*) FROM taken) < (SELECT count(*) FROM due) THEN (SELECT max(id) FROM taken)
              WHEN count(*) = $4::integer THEN max(id) END::text AS after,
         coalesce(bool_or(${oldEnough(`CASE q.status WHEN 'done' THEN q.published_at ELSE q.available_at END`)}), false) AS "hasOld"
    FROM page q`;

/** Rows that one look reads, some milliseconds' worth. */
const PAGE = 5_000;
/**
 * Rows behind the last old one that are looked at: one that is done, or that was due, before the age. So dead letters hide
 * nothing, however many lie side by side. What was scheduled long before its time lies among older rows: more of it in one
 * place hides what is behind until it is old itself.
 */
const LOOK_AHEAD = 100_000;

/**
 * First the locks, then, by a statement that sees what was committed until then, the rows: a handler that fails for the
 * first time at this moment locks the row, too, before it writes a delivery that reads the body from it (`handOver`).
 */
const LOCK = `
  /* outbox: lock old done rows */
  SELECT ctid::text AS tid FROM :schema.event_queue q WHERE ctid = ANY ($2::tid[]) AND ${OLD} FOR UPDATE SKIP LOCKED`;
const REMOVE = `/* outbox: prune done rows */ DELETE FROM :schema.event_queue q WHERE ctid = ANY ($1::tid[]) AND ${nobodyWaits('q')}`;

const COUNT = `/* outbox: count old done rows */ SELECT count(*)::float8 AS count FROM :schema.event_queue q WHERE ${OLD} AND ${nobodyWaits('q')}`;

export const doneShelf: Shelf = {
  ...shelfOver('event_queue', { find: FIND, lock: LOCK, remove: REMOVE, count: COUNT }),
  /** `after` is an id, and the rows without an old one before it. */
  async find(run, { keep, after, rows }) {
    const [lastId = null, ahead = '0'] = after?.split(' ') ?? [];
    const page = Math.min(PAGE, 10 * rows);
    const found = (await run<FoundRow>(FIND, [ages(keep), lastId, rows, page])).rows[0];
    const looked = found?.hasOld ? 0 : Number(ahead) + page;
    const next = found?.after && looked < LOOK_AHEAD ? `${found.after} ${looked}` : null;
    return { tids: found?.tids ?? [], after: next, beyond: next };
  },
};

interface FoundRow {
  readonly tids: readonly string[];
  readonly after: string | null;
  readonly hasOld: boolean;
}
