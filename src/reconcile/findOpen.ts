import type { Database } from '../postgres/database';

/** One handler of one event. */
export interface Handling {
  readonly eventId: string;
  readonly handler: string;
  /** The event was not handled before, in milliseconds by the database's clock. */
  readonly dueMs: number;
}

export interface OpenHandling {
  readonly eventId: string;
  readonly handler: string;
  /** `missing`: neither ledger nor deliveries know it. */
  readonly state: 'in progress' | 'waiting' | 'dead' | 'missing';
  /** If it was done at once, the ledger may have forgotten it. */
  readonly forgotten: boolean;
}

/**
 * One snapshot over ledger and deliveries: an attempt moves a handling from one to the other in one statement or
 * transaction, so one that was ever begun is always in either.
 */
const FIND = `
  /* outbox: find open */
  SELECT g.event_id AS "eventId", g.handler,
         coalesce(d.state, CASE WHEN p.event_id IS NULL THEN 'missing' ELSE 'in progress' END) AS state,
         g.due < extract(epoch FROM clock_timestamp()) * 1000 - $4::float8 AS forgotten
    FROM unnest($1::uuid[], $2::text[], $3::float8[]) AS g (event_id, handler, due)
    LEFT JOIN :schema.processed_events p USING (event_id, handler)
    LEFT JOIN :schema.deliveries d USING (event_id, handler)
   WHERE p.status IS DISTINCT FROM 'done' AND d.state IS DISTINCT FROM 'skipped'`;

/** Which of these handlings neither the ledger calls done nor an operator has skipped. */
export async function findOpen(
  db: Database,
  handlings: readonly Handling[],
  retentionMs: number,
): Promise<OpenHandling[]> {
  if (handlings.length === 0) return [];
  const { rows } = await db.query<{ [name in keyof OpenHandling]: OpenHandling[name] }>(FIND, [
    handlings.map(({ eventId }) => eventId),
    handlings.map(({ handler }) => handler),
    handlings.map(({ dueMs }) => dueMs),
    retentionMs,
  ]);
  return rows;
}
