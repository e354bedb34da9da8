import type { Database } from '../postgres/database';

const REMOVE = `
  /* outbox: forget handler */
  UPDATE :schema.outbox_installation
     SET handlers = array_remove(handlers, $1::text), handler_events = handler_events - $1::text,
         handlers_since = handlers_since - $1::text, handlers_revision = handlers_revision + 1,
         -- Beside the other as before: what an older build has made unknown stays so.
         handlers_since_revision = handlers_since_revision + 1
   WHERE $1::text = ANY (handlers) OR handler_events ? $1::text`;

/** Deliveries given up by one statement: no lock is held for long. */
const CHUNK = 5_000;

const SKIP_WAITING = `
  /* outbox: skip for forgotten handler */
  WITH waiting AS MATERIALIZED (
    SELECT event_id, handler FROM :schema.deliveries
     WHERE state = 'waiting' AND handler = $1
     LIMIT ${CHUNK}
       FOR UPDATE
  )
  UPDATE :schema.deliveries d
     SET state = 'skipped', next_at = NULL, failure_reason = 'the handler was removed', touched_at = clock_timestamp()
    FROM waiting w WHERE d.event_id = w.event_id AND d.handler = w.handler
  RETURNING d.event_id AS "eventId"`;

const COUNT_DEAD = `/* outbox: count dead of handler */ SELECT count(*)::float8 AS dead FROM :schema.deliveries WHERE state = 'dead' AND handler = $1`;

export interface ForgottenHandler {
  /** False when no handler of this name was recorded. */
  readonly removed: boolean;
  /** Deliveries of it that waited. */
  readonly skipped: number;
  /** Dead letters of it, which stay as they are: each is an event whose effect is missing. */
  readonly dead: number;
  /** For `settleRow`, which the caller must call. */
  readonly eventIds: readonly string[];
}

/**
 * Takes a handler that no worker has any more out of the recorded set, so that events are finished without it, and gives
 * up what waits for it. A worker that still has the handler records it again when it starts.
 */
export async function forgetHandler(db: Database, name: string): Promise<ForgottenHandler> {
  // First, since a claim that still sees the handler could add another delivery behind the last chunk.
  const removed = ((await db.query(REMOVE, [name])).rowCount ?? 0) > 0;
  const eventIds: string[] = [];
  for (let count = CHUNK; count === CHUNK;) {
    const { rows } = await db.query<{ eventId: string }>(SKIP_WAITING, [name]);
    count = rows.length;
    for (const { eventId } of rows) eventIds.push(eventId);
  }
  const { rows } = await db.query<{ dead: number }>(COUNT_DEAD, [name]);
  return { removed, skipped: eventIds.length, dead: rows[0]?.dead ?? 0, eventIds };
}
