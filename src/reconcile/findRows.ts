import type { Database } from '../postgres/database';

/** The row of an event that the stream holds. */
export interface FoundRow {
  readonly eventId: string;
  readonly id: number;
  /** When it became due, in milliseconds: it was neither published nor handled before. */
  readonly dueMs: number;
}

const FIND = `
  /* outbox: find rows */
  SELECT event_id AS "eventId", id::float8 AS id,
         coalesce(extract(epoch FROM available_at), '-infinity')::float8 * 1000 AS "dueMs"
    FROM :schema.event_queue WHERE event_id = ANY ($1::uuid[])`;

/** Which of these events stand in the outbox. */
export async function findRows(db: Database, eventIds: readonly string[]): Promise<Map<string, FoundRow>> {
  const { rows } = await db.query<{ [name in keyof FoundRow]: FoundRow[name] }>(FIND, [eventIds]);
  return new Map(rows.map((row) => [row.eventId, row]));
}
