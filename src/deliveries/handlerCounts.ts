import type { Database } from '../postgres/database';

export interface HandlerCount {
  readonly handler: string;
  /** Event types it takes; empty for one that is not recorded any more and has left deliveries behind. */
  readonly events: readonly string[];
  readonly recorded: boolean;
  readonly waiting: number;
  readonly dead: number;
}

/** Reads the waiting and the dead deliveries only, never the skipped ones, which stay for good. */
const COUNTS = `
  WITH recorded AS (
    SELECT e.key AS handler, e.value AS events
      FROM :schema.outbox_installation, jsonb_each(handler_events) AS e
  ), waiting AS (
    SELECT handler, count(*)::float8 AS waiting FROM :schema.deliveries WHERE state = 'waiting' GROUP BY handler
  ), dead AS (
    SELECT handler, count(*)::float8 AS dead FROM :schema.deliveries WHERE state = 'dead' GROUP BY handler
  )
  SELECT handler, coalesce(events, '[]') AS events, events IS NOT NULL AS recorded,
         coalesce(waiting, 0) AS waiting, coalesce(dead, 0) AS dead
    FROM recorded FULL JOIN waiting USING (handler) FULL JOIN dead USING (handler)
   ORDER BY handler`;

/** The recorded handlers, and whoever else has deliveries that are open. */
export async function countByHandler(db: Database): Promise<HandlerCount[]> {
  return (await db.query<{ [name in keyof HandlerCount]: HandlerCount[name] }>(COUNTS)).rows;
}
