import type { Database } from '../postgres/database';

export interface Backlog {
  /** Waiting and never deferred, whether due or scheduled. */
  readonly pending: number;
  readonly deferred: number;
  readonly processing: number;
  /** Backend `db`: rows whose handlers are being retried. */
  readonly retrying: number;
  /** Rows: what the relay gave up, and in the `db` backend also what handlers gave up. */
  readonly deadLettered: number;
  /** Handlers of events that failed, or must wait, and will be tried again. */
  readonly waitingDeliveries: number;
  /** Handlers of events whose attempts ran out. */
  readonly deadDeliveries: number;
  /** Of `pending` and `deferred`: those that a claim would take now. */
  readonly due: number;
  /** Age of the oldest due event in milliseconds, by the database's clock; null when none is due. */
  readonly oldestDueMs: number | null;
  /** The highest id so far; null while the outbox is empty. Of two looks: some gaps more than what was enqueued between. */
  readonly lastId: number | null;
}

/**
 * Each count reads one of the partial indexes, whose size is the backlog: what is done is never counted, since that
 * would read the whole history.
 */
const BACKLOG = `
  /* outbox: read backlog */
  SELECT waiting.pending, waiting.deferred, waiting.due, waiting."oldestDueMs",
         (SELECT count(*)::float8 FROM :schema.event_queue WHERE status = 'processing') AS processing,
         (SELECT count(*)::float8 FROM :schema.event_queue WHERE status = 'retrying') AS retrying,
         (SELECT max(id)::float8 FROM :schema.event_queue) AS "lastId",
         (SELECT count(*)::float8 FROM :schema.event_queue WHERE status = 'dead_lettered') AS "deadLettered",
         (SELECT count(*)::float8 FROM :schema.deliveries WHERE state = 'waiting') AS "waitingDeliveries",
         (SELECT count(*)::float8 FROM :schema.deliveries WHERE state = 'dead') AS "deadDeliveries"
    FROM (
      SELECT count(*) FILTER (WHERE status = 'pending')::float8 AS pending,
             count(*) FILTER (WHERE status = 'deferred')::float8 AS deferred,
             count(*) FILTER (WHERE coalesce(retry_at, available_at) <= statement_timestamp())::float8 AS due,
             (extract(epoch FROM statement_timestamp() - min(available_at)
                FILTER (WHERE coalesce(retry_at, available_at) <= statement_timestamp() AND isfinite(available_at))) * 1000)::float8 AS "oldestDueMs"
        FROM :schema.event_queue
       WHERE status IN ('pending', 'deferred')
    ) AS waiting`;

/** What the outbox holds that is not done. */
export async function readBacklog(db: Database): Promise<Backlog> {
  const { rows } = await db.query<Backlog>(BACKLOG);
  const row = rows[0];
  if (!row) throw new Error('the backlog query answered without a row');
  return { ...row, oldestDueMs: row.oldestDueMs === null ? null : Math.max(0, Math.round(row.oldestDueMs)) };
}
