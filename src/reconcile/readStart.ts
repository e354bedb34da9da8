import type { Database } from '../postgres/database';

/** The recorded set of handlers. */
export interface Recorded {
  /** Event types by handler. */
  readonly events: Readonly<Record<string, readonly string[]>>;
  /** Since when, by handler and type, as far as it is known; in milliseconds since 1970, by the database's clock. */
  readonly since: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** What the database says when the comparison begins. Times are in milliseconds since 1970, by its clock. */
export interface Start {
  readonly nowMs: number;
  /** The highest id of a row; `null` when there is none. */
  readonly lastId: string | null;
  /** When rows came to have event ids: what was published before has another id in the stream, or none. */
  readonly identifiedMs: number;
}

const READ = `
  /* outbox: read start */
  SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS "nowMs",
         (SELECT max(id)::text FROM :schema.event_queue) AS "lastId",
         (SELECT extract(epoch FROM min(applied_at))::float8 * 1000
            FROM :schema.outbox_migrations WHERE version = 2) AS "identifiedMs"`;

export async function readStart(db: Database): Promise<Start> {
  const row = (await db.query<{ [name in keyof Start]: Start[name] }>(READ)).rows[0];
  if (!row) throw new Error('the database answered without a row');
  return row;
}

/** Times of another revision than the set's are those of a set that a build without times has changed since. */
const READ_RECORDED = `
  /* outbox: read beginnings */
  SELECT handler_events AS events,
         CASE WHEN handlers_since_revision = handlers_revision THEN handlers_since ELSE '{}' END AS since
    FROM :schema.outbox_installation`;

export async function readRecorded(db: Database): Promise<Recorded> {
  const row = (await db.query<{ [name in keyof Recorded]: Recorded[name] }>(READ_RECORDED)).rows[0];
  return row ?? { events: {}, since: {} };
}

const NOW = `/* outbox: read clock of reconcile */ SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now`;

export async function readClock(db: Database): Promise<number> {
  return (await db.query<{ now: number }>(NOW)).rows[0]?.now ?? NaN;
}
