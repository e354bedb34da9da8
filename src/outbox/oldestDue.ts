import type { Database } from '../postgres/database';

export interface OldestDue {
  /** By the database's clock, in seconds; 0 when none is due. */
  readonly ageSeconds: number;
}

/** The first entry of the index that claims go by: as quick over a backlog of millions as over none. */
const OLDEST_DUE = `
  /* outbox: read oldest due */
  SELECT coalesce((
    SELECT extract(epoch FROM statement_timestamp() - available_at)::float8
      FROM :schema.event_queue
     WHERE status IN ('pending', 'deferred') AND coalesce(retry_at, available_at) <= statement_timestamp()
       AND isfinite(available_at)
     ORDER BY coalesce(retry_at, available_at), id
     LIMIT 1), 0) AS "ageSeconds"`;

/** The age of the event that is claimed next. */
export async function readOldestDue(db: Database): Promise<OldestDue> {
  const { rows } = await db.query<OldestDue>(OLDEST_DUE);
  return { ageSeconds: Math.max(0, rows[0]?.ageSeconds ?? 0) };
}
