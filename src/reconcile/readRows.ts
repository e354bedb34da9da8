import type { Database } from '../postgres/database';

/** A row of the outbox that was done when the comparison began. */
export interface DoneRow {
  readonly id: number;
  readonly eventId: string;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly publishedAt: string;
  readonly publishedMs: number;
  /** When it became due: it was neither published nor handled before. */
  readonly dueMs: number;
}

/** Rows that are read by one statement: some milliseconds each, so that no snapshot is held for long. */
const PAGE = 5_000;

/**
 * The page is cut before the filter: the rows behind it are found by one range of the primary key, however long the
 * history is in which nothing matches.
 */
const READ = `
  /* outbox: read rows */
  WITH page AS MATERIALIZED (
    SELECT id, event_id, event_type, aggregate_type, available_at, published_at, status
      FROM :schema.event_queue WHERE id > $1::bigint AND id <= $2::bigint ORDER BY id LIMIT ${PAGE}
  )
  SELECT (SELECT max(id)::text FROM page) AS "lastId", (SELECT count(*)::float8 FROM page) AS size,
         coalesce((SELECT jsonb_agg(jsonb_build_object(
           'id', id, 'eventId', event_id, 'eventType', event_type, 'aggregateType', aggregate_type,
           'publishedAt', to_char(published_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'publishedMs', extract(epoch FROM published_at) * 1000,
           'dueMs', CASE WHEN isfinite(available_at) THEN extract(epoch FROM available_at) * 1000 ELSE 0 END))
            FROM page
           WHERE status = 'done' AND event_id IS NOT NULL AND isfinite(published_at)
             AND published_at <= to_timestamp($3::float8 / 1000)
             AND ($4::float8 IS NULL OR available_at >= to_timestamp($4::float8 / 1000))), '[]') AS rows`;

interface Page {
  readonly lastId: string | null;
  readonly size: number;
  readonly rows: readonly DoneRow[];
}

/** Rows that were done at `untilMs`, by id, a page at a time. No transaction is open between two pages. */
export async function* readDoneRows(
  db: Database,
  { lastId, untilMs, sinceMs }: { lastId: string | null; untilMs: number; sinceMs: number | null },
): AsyncGenerator<readonly DoneRow[]> {
  let after: string | null = '-9223372036854775808';
  while (lastId !== null && after !== null) {
    const page: Page | undefined = (await db.query<{ [name in keyof Page]: Page[name] }>(READ, [after, lastId, untilMs, sinceMs])).rows[0]; // prettier-ignore
    if (page && page.rows.length > 0) yield page.rows;
    after = page && page.size === PAGE ? page.lastId : null;
  }
}
