import type { Database } from '../postgres/database';
import type { Start } from './readStart';

/** Handlers that come with an installation are recorded together, and begin together with its first events. */
const FIRST_MINUTE_MS = 60_000;

const FIRST_DONE = `
  SELECT extract(epoch FROM p.started_at)::float8 * 1000 AS ms
    FROM :schema.processed_events p
    LEFT JOIN :schema.event_queue q USING (event_id)
   WHERE p.status = 'done' AND p.handler = $1 AND (q.event_type = $2 OR q.event_id IS NULL)
   ORDER BY p.processed_at LIMIT 1`;

/** When the first handling of a type by a handler began, as far as the ledger remembers. */
async function readFirstDone(db: Database, handler: string, type: string): Promise<number | null> {
  return (await db.query<{ ms: number }>(FIRST_DONE, [handler, type])).rows[0]?.ms ?? null;
}

/**
 * Whether a handler was recorded for a type when an event was finished: one that was added later is not given what was
 * finished before, and that is no fault.
 *
 * The installation records which handlers there are, and not since when. So the answer is taken from what they did: a
 * handler was there if it has begun an event of this type earlier, or if the event was one of the installation's first.
 * Of events that are older than the first that a handler ever did of their type, a missing one cannot be told from one
 * that came before the handler; they are not judged. Nor is what a handler missed that has never done anything, once
 * other handlers have.
 */
export class Beginnings {
  private readonly known = new Map<string, Promise<number | null>>();

  constructor(
    private readonly db: Database,
    private readonly start: Pick<Start, 'firstDoneMs' | 'installedMs'>,
  ) {}

  /** @param gone neither row nor acknowledgement tells that handlers were there at all: the stream only dropped it */
  async wasThere(handler: string, type: string, notBeforeMs: number, gone: boolean): Promise<boolean> {
    const { firstDoneMs, installedMs } = this.start;
    if (firstDoneMs === null) return !gone && notBeforeMs >= installedMs;
    if (Math.abs(notBeforeMs - firstDoneMs) <= FIRST_MINUTE_MS) return true;
    const first = await this.firstDone(handler, type);
    return first !== null && notBeforeMs >= first;
  }

  /** Asked only where something is missing, and once: for a handler that is new it reads the ledger up to there. */
  private firstDone(handler: string, type: string): Promise<number | null> {
    const key = `${handler} ${type}`;
    let first = this.known.get(key);
    if (!first) {
      first = readFirstDone(this.db, handler, type);
      this.known.set(key, first);
    }
    return first;
  }
}
