import type { Database } from '../postgres/database';

export interface HandlerCount {
  readonly handler: string;
  /** Event types it takes; empty for one that is not recorded any more and has left deliveries behind. */
  readonly events: readonly string[];
  readonly recorded: boolean;
  readonly waiting: number;
  readonly dead: number;
  /** Given up by an operator. */
  readonly skipped: number;
}

/** Reads all deliveries once. None of a healthy event stands there; a million skipped ones take a fifth of a second. */
const COUNTS = `
  /* outbox: count by handler */
  WITH recorded AS (
    SELECT e.key AS handler, e.value AS events
      FROM :schema.outbox_installation, jsonb_each(handler_events) AS e
  ), counted AS (
    SELECT handler, count(*) FILTER (WHERE state = 'waiting')::float8 AS waiting,
           count(*) FILTER (WHERE state = 'dead')::float8 AS dead,
           count(*) FILTER (WHERE state = 'skipped')::float8 AS skipped
      FROM :schema.deliveries GROUP BY handler
  )
  SELECT handler, coalesce(events, '[]') AS events, events IS NOT NULL AS recorded,
         coalesce(waiting, 0) AS waiting, coalesce(dead, 0) AS dead, coalesce(skipped, 0) AS skipped
    FROM recorded FULL JOIN counted USING (handler)
   ORDER BY handler`;

/** The recorded handlers, and whoever else has deliveries. */
export async function countByHandler(db: Database): Promise<HandlerCount[]> {
  return (await db.query<{ [name in keyof HandlerCount]: HandlerCount[name] }>(COUNTS)).rows;
}
