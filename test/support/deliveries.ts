import { randomUUID } from 'node:crypto';
import type { Database } from '../../src/postgres/database';

export interface DeliveryRow {
  readonly eventId?: string;
  readonly handler?: string;
  readonly state?: 'waiting' | 'dead' | 'skipped';
  readonly attempts?: number;
  readonly reason?: string;
  readonly eventType?: string;
  readonly companyId?: string;
  /** SQL; default now for one that waits or is dead. */
  readonly at?: string;
  /** An event of a stream that stands in no outbox. */
  readonly foreign?: boolean;
}

/** A delivery as a worker leaves it, written by SQL. @returns its event id */
export async function insertDelivery(db: Database, row: DeliveryRow = {}): Promise<string> {
  const { eventId = randomUUID(), handler = 'mail', state = 'dead', attempts = 3, reason = 'no such host' } = row;
  const at = row.at ?? 'clock_timestamp()';
  await db.query(
    `INSERT INTO :schema.deliveries (event_id, handler, state, attempts, next_at, failed_at, failure_reason, source,
       event_type, aggregate_type, aggregate_id, company_id, record, body)
     VALUES ($1, $2, $3, $4, ${state === 'waiting' ? at : 'NULL'}, ${state === 'dead' ? at : 'NULL'}, $5, $6, $7, 'thing', 'a', $8, $9, $10)`,
    [
      ...[eventId, handler, state, attempts, reason],
      ...[row.foreign ? 'EVENTS/7' : 'outbox', row.eventType ?? 'ThingHappened', row.companyId ?? null],
      ...[row.foreign ? JSON.stringify({ eventId }) : null, row.foreign ? Buffer.from('{}') : null],
    ],
  );
  return eventId;
}

/** The row of the `db` backend whose handlers failed, as `settleRow` leaves it. */
export async function setStatus(
  db: Database,
  eventId: string,
  status: 'done' | 'retrying' | 'dead_lettered',
): Promise<void> {
  await db.query(
    `UPDATE :schema.event_queue
        SET status = $2, attempts = 3, failure_reason = CASE WHEN $2 <> 'done' THEN 'mail: no such host' END,
            published_at = CASE WHEN $2 = 'done' THEN clock_timestamp() END,
            failed_at = CASE WHEN $2 = 'dead_lettered' THEN clock_timestamp() END,
            retry_at = CASE WHEN $2 = 'retrying' THEN clock_timestamp() + interval '1 hour' END
      WHERE event_id = $1`,
    [eventId, status],
  );
}

/** The recorded set of handlers, as a worker's start leaves it; recorded since 1970, for most tests. */
export async function recordHandlers(
  db: Database,
  events: Readonly<Record<string, readonly string[]>>,
  sinceMs = 0,
): Promise<void> {
  const since = Object.entries(events).map(([name, types]) => [
    name,
    Object.fromEntries(types.map((type) => [type, sinceMs])),
  ]);
  await db.query(
    `UPDATE :schema.outbox_installation
        SET handlers = $1, handler_events = $2, handlers_since = $3, handlers_revision = handlers_revision + 1,
            handlers_since_revision = handlers_revision + 1`,
    [Object.keys(events), JSON.stringify(events), JSON.stringify(Object.fromEntries(since))],
  );
}

/** A row of the ledger. @param claim `done`, or the SQL of `lease_until` of a claim that is in progress */
export async function insertLedger(db: Database, eventId: string, handler: string, claim: string): Promise<void> {
  const done = claim === 'done';
  await db.query(
    `INSERT INTO :schema.processed_events (event_id, handler, status, lease_until, processed_at)
     VALUES ($1, $2, $3, ${done ? 'NULL' : claim}, ${done ? 'clock_timestamp()' : 'NULL'})`,
    [eventId, handler, done ? 'done' : 'in_progress'],
  );
}

export async function deliveryOf(db: Database, eventId: string, handler = 'mail') {
  const { rows } = await db.query<Record<string, unknown>>(
    `SELECT state, attempts, failure_reason AS reason, failed_at, next_at <= clock_timestamp() AS due,
            touched_at::text AS touched, source
       FROM :schema.deliveries WHERE event_id = $1 AND handler = $2`,
    [eventId, handler],
  );
  return rows[0];
}

export async function ledgerOf(db: Database, eventId: string, handler = 'mail') {
  const { rows } = await db.query<{ status: string }>(
    `SELECT status FROM :schema.processed_events WHERE event_id = $1 AND handler = $2`,
    [eventId, handler],
  );
  return rows[0]?.status;
}
