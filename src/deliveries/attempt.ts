import { LEASE_COLUMNS, startedAt, STARTED_MS, type LeaseTimes } from '../ledger/claim';
import type { Runner } from '../ledger/finish';
import type { Database } from '../postgres/database';

/*
 * What one attempt of a delivery run reads and writes. Each write that ends an attempt is conditioned on the ledger claim
 * that the attempt holds.
 */

export interface DeliveryKey {
  readonly eventId: string;
  readonly handler: string;
}

/** An attempt that has begun. */
export interface Attempt extends DeliveryKey {
  readonly startedAt: number;
  /** Attempts spent before this one. */
  readonly attempts: number;
  readonly eventType: string;
}

export type Beginning =
  | { readonly kind: 'begun'; readonly startedAt: number; readonly attempts: number; readonly eventType: string }
  /** Nothing waits: handled, skipped, or dead, by whomever. */
  | { readonly kind: 'over' }
  | { readonly kind: 'held'; readonly forMs: number; readonly attempts: number }
  /** More has become of it than whoever asks knows of. */
  | { readonly kind: 'behind'; readonly attempts: number; readonly dueInMs: number; readonly reason: string | null }
  | {
      readonly kind: 'lost';
      readonly startedAt: number;
      readonly sinceMs: number;
      readonly attempts: number;
      readonly eventType: string;
    };

const BEGIN = `
  /* outbox: begin attempt */
  WITH waiting AS MATERIALIZED (
    SELECT event_id, handler, attempts, event_type, next_at, failure_reason FROM :schema.deliveries
     WHERE event_id = $1 AND handler = $2 AND state = 'waiting' FOR UPDATE
  ), touched AS (
    UPDATE :schema.deliveries d SET touched_at = clock_timestamp()
      FROM waiting w WHERE d.event_id = w.event_id AND d.handler = w.handler
  ), taken AS (
    INSERT INTO :schema.processed_events (event_id, handler, status, lease_until)
    SELECT event_id, handler, 'in_progress', clock_timestamp() + $3::float8 * interval '1 millisecond' FROM waiting
     WHERE $5::integer IS NULL OR attempts = $5::integer
    ON CONFLICT (event_id, handler) DO NOTHING
    RETURNING ${STARTED_MS} AS started
  )
  SELECT w.attempts, w.event_type AS "eventType", w.failure_reason AS reason,
         (extract(epoch FROM w.next_at - clock_timestamp()) * 1000)::float8 AS "dueInMs", taken.started AS "takenAt", ${LEASE_COLUMNS}
    FROM waiting w
    LEFT JOIN taken ON true
    LEFT JOIN :schema.processed_events p USING (event_id, handler)`;

interface BeginRow {
  readonly attempts: number;
  readonly eventType: string;
  readonly reason: string | null;
  readonly dueInMs: number;
  readonly takenAt: number | null;
  readonly status: string | null;
  readonly startedAt: number | null;
  readonly endsInMs: number | null;
  readonly silentMs: number | null;
}

/**
 * Claims the ledger for an attempt of a delivery that waits.
 *
 * @param expected attempts spent, as far as the run knows that asked for this one. An activity that a worker was given
 *   long ago, and that Temporal has taken for lost meanwhile, may still come to its beginning, when another attempt has
 *   been made in its place: it must not be one more, before its time. Nor must the run's own next one, when the answer
 *   of the last was lost. Not judged by the due time, which an operator may cut short. Undefined: a run of an older
 *   build does not say.
 */
export async function beginAttempt(
  db: Database,
  key: DeliveryKey,
  times: LeaseTimes,
  expected?: number,
): Promise<Beginning> {
  const values = [key.eventId, key.handler, times.leaseMs, times.maxLeaseMs, expected ?? null];
  const { rows } = await db.query<BeginRow>(BEGIN, values);
  const row = rows[0];
  if (!row) return { kind: 'over' };
  const { attempts, eventType } = row;
  if (row.takenAt !== null) return { kind: 'begun', startedAt: row.takenAt, attempts, eventType };
  if (row.status === 'done') {
    // Whoever held the claim before finished it after all.
    await dropDelivery(db, key);
    return { kind: 'over' };
  }
  if (row.startedAt === null && expected !== undefined && attempts !== expected)
    return { kind: 'behind', attempts, dueInMs: Math.max(0, row.dueInMs), reason: row.reason };
  if (row.startedAt === null) return { kind: 'held', forMs: 50, attempts };
  const endsInMs = row.endsInMs ?? 0;
  if (endsInMs > 0) return { kind: 'held', forMs: Math.ceil(endsInMs), attempts };
  return { kind: 'lost', startedAt: row.startedAt, sinceMs: row.silentMs ?? 0, attempts, eventType };
}

const DROP = `/* outbox: drop delivery */ DELETE FROM :schema.deliveries WHERE event_id = $1 AND handler = $2 AND state = 'waiting'`;

async function dropDelivery(db: Database, { eventId, handler }: DeliveryKey): Promise<void> {
  await db.query(DROP, [eventId, handler]);
}

const FINISH = `
  /* outbox: finish attempt */
  WITH finished AS (
    UPDATE :schema.processed_events
       SET status = 'done', processed_at = clock_timestamp(), lease_until = NULL
     WHERE event_id = $1 AND handler = $2 AND status = 'in_progress' AND started_at = ${startedAt('$3::float8')}
    RETURNING event_id, handler
  ), dropped AS (
    DELETE FROM :schema.deliveries d USING finished f WHERE d.event_id = f.event_id AND d.handler = f.handler
  )
  SELECT count(*)::integer AS finished FROM finished`;

/**
 * The effect is there: the ledger says done and nothing waits any more. In a transactional handler's transaction it
 * commits with the effect.
 *
 * @returns false when the claim is not ours any more; a transaction must then be rolled back
 */
export async function finishAttempt(run: Runner, attempt: Attempt): Promise<boolean> {
  const { rows } = await run<{ finished: number }>(FINISH, [attempt.eventId, attempt.handler, attempt.startedAt]);
  return rows[0]?.finished === 1;
}

const END = `
  /* outbox: end attempt */
  WITH released AS (
    DELETE FROM :schema.processed_events
     WHERE event_id = $1 AND handler = $2 AND status = 'in_progress' AND started_at = ${startedAt('$3::float8')}
    RETURNING event_id, handler
  ), written AS (
    UPDATE :schema.deliveries d
       SET attempts = $4::integer, failure_reason = $5, touched_at = clock_timestamp(),
           state = CASE WHEN $6 THEN 'dead' ELSE 'waiting' END,
           next_at = CASE WHEN NOT $6 THEN clock_timestamp() + $7::float8 * interval '1 millisecond' END,
           failed_at = CASE WHEN $6 THEN clock_timestamp() END
      FROM released r
     WHERE d.event_id = r.event_id AND d.handler = r.handler AND d.state = 'waiting'
    RETURNING d.event_id, d.attempts, d.next_at
  ), shown AS (
    UPDATE :schema.event_queue q
       SET attempts = greatest(q.attempts, w.attempts), failure_reason = $5, retry_at = coalesce(w.next_at, q.retry_at)
      FROM written w
     WHERE q.event_id = w.event_id AND q.status = 'retrying'
  )
  SELECT count(*)::integer AS written FROM written`;

export interface AttemptEnd {
  /** Spent by now. */
  readonly attempts: number;
  readonly dueInMs: number;
  readonly reason: string;
  readonly dead: boolean;
}

/**
 * An attempt that had no success: failed, given up, deferred, or its worker was lost. Releases the claim in the same
 * statement.
 *
 * @returns false when the claim is not ours any more: nothing was written
 */
export async function endAttempt(
  db: Database,
  attempt: Omit<Attempt, 'attempts'>,
  { attempts, reason, dead, dueInMs }: AttemptEnd,
): Promise<boolean> {
  const { eventId, handler } = attempt;
  const values = [eventId, handler, attempt.startedAt, attempts, reason, dead, dueInMs];
  const { rows } = await db.query<{ written: number }>(END, values);
  return rows[0]?.written === 1;
}
