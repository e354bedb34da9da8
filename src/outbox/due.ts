import type { Database } from '../postgres/database';

export interface Due {
  /** Milliseconds until the next row is due, 0 when one is, `null` when nothing waits. */
  readonly inMs: number | null;
  /** Deferred rows wait, so a probe is worth its while. */
  readonly deferred: boolean;
}

const NEXT_DUE = `
  /* outbox: read next due */
  SELECT (SELECT CASE coalesce(retry_at, available_at)
                   WHEN 'infinity' THEN NULL
                   WHEN '-infinity' THEN 0
                   ELSE greatest(0, ceil(extract(epoch FROM coalesce(retry_at, available_at) - clock_timestamp()) * 1000))
                 END::float8
            FROM :schema.event_queue
           WHERE status IN ('pending', 'deferred')
           ORDER BY coalesce(retry_at, available_at), id
           LIMIT 1) AS "inMs",
         EXISTS (SELECT FROM :schema.event_queue WHERE status = 'deferred') AS deferred`;

/** How long a claim may sleep; what a foreign writer put off to `infinity` never ends a sleep. One statement that reads two index entries: it is all that an idle relay runs. */
export async function nextDue(db: Database): Promise<Due> {
  const { rows } = await db.query<Due>(NEXT_DUE);
  return rows[0] ?? { inMs: null, deferred: false };
}
