import { GIVEN_UP_BY_RELAY } from '../deadLetters/filter';
import type { Database } from '../postgres/database';

export interface OpenCounts {
  readonly pending: number;
  readonly scheduled: number;
  readonly deferred: number;
  readonly processing: number;
  readonly retrying: number;
  readonly deliveries: number;
  /** Rows that the relay gave up, and deliveries that handlers gave up; as `outbox dead list` has them. */
  readonly dead: number;
}

/** Reads the partial indexes, whose size is what is open, and never the history. */
const COUNT = `
  /* outbox: count open */
  SELECT waiting.*,
         (SELECT count(*)::float8 FROM :schema.event_queue WHERE status = 'processing') AS processing,
         (SELECT count(*)::float8 FROM :schema.event_queue WHERE status = 'retrying') AS retrying,
         (SELECT count(*)::float8 FROM :schema.deliveries WHERE state = 'waiting') AS deliveries,
         (SELECT count(*)::float8 FROM :schema.deliveries WHERE state = 'dead')
           + (SELECT count(*)::float8 FROM :schema.event_queue q
               WHERE status = 'dead_lettered' AND ${GIVEN_UP_BY_RELAY}) AS dead
    FROM (
      SELECT count(*) FILTER (WHERE status = 'pending' AND available_at <= statement_timestamp())::float8 AS pending,
             count(*) FILTER (WHERE status = 'pending' AND available_at > statement_timestamp())::float8 AS scheduled,
             count(*) FILTER (WHERE status = 'deferred')::float8 AS deferred
        FROM :schema.event_queue
       WHERE status IN ('pending', 'deferred')
    ) AS waiting`;

export async function countOpen(db: Database): Promise<OpenCounts> {
  const row = (await db.query<{ [name in keyof OpenCounts]: OpenCounts[name] }>(COUNT)).rows[0];
  if (!row) throw new Error('the database answered without a row');
  return row;
}
