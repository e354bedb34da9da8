import type { Database } from '../postgres/database';

/** What the database says when the comparison begins. Times are in milliseconds since 1970, by its clock. */
export interface Start {
  /** For statements, to the microsecond. */
  readonly now: string;
  readonly nowMs: number;
  /** The highest id of a row; `null` when there is none. */
  readonly lastId: string | null;
  /** Event types by recorded handler. */
  readonly recorded: Readonly<Record<string, readonly string[]>>;
  /** When the tables of the handlers came to be. */
  readonly installedMs: number;
  /** When the first handling that the ledger remembers began; null when it remembers none. */
  readonly firstDoneMs: number | null;
}

const READ = `
  SELECT at.now::text AS now, extract(epoch FROM at.now)::float8 * 1000 AS "nowMs",
         (SELECT max(id)::text FROM :schema.event_queue) AS "lastId",
         coalesce((SELECT handler_events FROM :schema.outbox_installation), '{}') AS recorded,
         (SELECT extract(epoch FROM min(applied_at))::float8 * 1000
            FROM :schema.outbox_migrations WHERE version = 4) AS "installedMs",
         (SELECT extract(epoch FROM started_at)::float8 * 1000 FROM :schema.processed_events
           WHERE status = 'done' ORDER BY processed_at LIMIT 1) AS "firstDoneMs"
    FROM (SELECT clock_timestamp() AS now) AS at`;

export async function readStart(db: Database): Promise<Start> {
  const row = (await db.query<{ [name in keyof Start]: Start[name] }>(READ)).rows[0];
  if (!row) throw new Error('the database answered without a row');
  return row;
}

const NOW = `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now`;

export async function readClock(db: Database): Promise<number> {
  return (await db.query<{ now: number }>(NOW)).rows[0]?.now ?? NaN;
}
