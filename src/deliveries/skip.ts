import { UUID } from '../event';
import { storable } from '../handlers/storable';
import type { Database } from '../postgres/database';

/** As much of a reason as an operator reads; it is shown on one page with all else of the event. */
const MAX_REASON = 2_000;
/** A ledger claim without `lease_until` is over then; what OUTBOX_LEDGER_MAX_LEASE_MS is by default. */
const MAX_LEASE_MS = 1_800_000;

export type SkipResult =
  | 'skipped'
  /** The ledger says done: there is nothing to give up. */
  | 'already handled'
  /** Neither a delivery nor an event of this id is here. */
  | 'unknown'
  /** Somebody is at work on it this moment: its effect may come about. Nothing was changed. */
  | 'running';

/**
 * The delivery is locked first, as an attempt does when it begins. A live claim that the snapshot shows is not touched at
 * all: an attempt that ends writes the ledger first and the delivery second, and the two would wait for each other.
 * A new `started_at`, since it is the owner token: the claim of a worker that was frozen must not finish what was skipped.
 * A row whose handlers were dead is `retrying` again, for `settleRow` to judge by what is left.
 */
const SKIP = `
  /* outbox: skip */
  WITH delivery AS MATERIALIZED (
    SELECT event_id, state FROM :schema.deliveries WHERE event_id = $1::uuid AND handler = $2 FOR UPDATE
  ), event AS MATERIALIZED (
    SELECT event_id, event_type, aggregate_type, aggregate_id, company_id FROM :schema.event_queue WHERE event_id = $1::uuid
  ), ledger AS (
    INSERT INTO :schema.processed_events AS p (event_id, handler, status, processed_at)
    SELECT $1::uuid, $2, 'done', clock_timestamp()
     WHERE (EXISTS (SELECT FROM delivery) OR EXISTS (SELECT FROM event))
       AND NOT EXISTS (
         SELECT FROM :schema.processed_events
          WHERE event_id = $1::uuid AND handler = $2 AND status = 'in_progress'
            AND coalesce(lease_until, started_at + $4::float8 * interval '1 millisecond') > clock_timestamp())
    ON CONFLICT (event_id, handler) DO UPDATE
       SET status = 'done', started_at = clock_timestamp(), processed_at = clock_timestamp(), lease_until = NULL
     WHERE p.status = 'in_progress'
       AND coalesce(p.lease_until, p.started_at + $4::float8 * interval '1 millisecond') <= clock_timestamp()
    RETURNING event_id
  ), changed AS (
    UPDATE :schema.deliveries d
       SET state = 'skipped', next_at = NULL, failed_at = NULL, failure_reason = $3, touched_at = clock_timestamp()
      FROM ledger WHERE d.event_id = ledger.event_id AND d.handler = $2
  ), added AS (
    INSERT INTO :schema.deliveries (event_id, handler, state, failure_reason, source, event_type, aggregate_type, aggregate_id, company_id)
    SELECT event_id, $2, 'skipped', $3, 'outbox', event_type, aggregate_type, aggregate_id, company_id
      FROM event WHERE EXISTS (SELECT FROM ledger) AND NOT EXISTS (SELECT FROM delivery)
    ON CONFLICT (event_id, handler) DO UPDATE
       SET state = 'skipped', next_at = NULL, failed_at = NULL, failure_reason = $3, touched_at = clock_timestamp()
  ), retrying AS (
    UPDATE :schema.event_queue
       SET status = 'retrying', retry_at = clock_timestamp(), failed_at = NULL
     WHERE event_id = $1::uuid AND status = 'dead_lettered' AND EXISTS (SELECT FROM ledger)
       AND EXISTS (SELECT FROM delivery WHERE state = 'dead')
  )
  SELECT EXISTS (SELECT FROM ledger) AS skipped, EXISTS (SELECT FROM delivery) OR EXISTS (SELECT FROM event) AS known,
         (SELECT status FROM :schema.processed_events WHERE event_id = $1::uuid AND handler = $2) AS before`;

/**
 * Gives a handler of an event up on purpose: the ledger says done, so that it never runs, and the reason stands in
 * `deliveries`. An event whose handler has not failed yet may be skipped beforehand. The caller must call `settleRow`
 * afterwards, and should tell the delivery run, which otherwise finds out at its next attempt.
 *
 * @param reason cut at 2,000 characters
 */
export async function skipDelivery(
  db: Database,
  eventId: string,
  handler: string,
  reason: string,
  options: { readonly maxLeaseMs?: number } = {},
): Promise<SkipResult> {
  if (!UUID.test(eventId)) return 'unknown';
  const said = storable(reason, MAX_REASON);
  if (said.trim() === '') throw new RangeError(`say why ${handler} is skipped: the reason is all that will tell later`);
  const values = [eventId, handler, said, options.maxLeaseMs ?? MAX_LEASE_MS];
  const { rows } = await db.query<{ skipped: boolean; known: boolean; before: string | null }>(SKIP, values);
  const row = rows[0];
  if (row?.skipped) return 'skipped';
  if (row?.before === 'done') return 'already handled';
  return row?.known ? 'running' : 'unknown';
}
