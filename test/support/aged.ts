import { randomUUID } from 'node:crypto';
import type { Database } from '../../src/postgres/database';
import { ownerOf } from './database';

export interface AgedRow {
  readonly eventId?: string;
  /** An interval of PostgreSQL: how long ago it came to its state. */
  readonly age: string;
  readonly type?: string;
  readonly payload?: string;
}

/** A row of `event_queue` that came to its state so long ago. @returns its event id */
export async function insertRow(
  db: Database,
  status: 'pending' | 'deferred' | 'processing' | 'retrying' | 'done' | 'dead_lettered',
  { eventId = randomUUID(), age, type = 'ThingHappened', payload = '{}' }: AgedRow,
): Promise<string> {
  await ownerOf(db).query(
    `INSERT INTO :schema.event_queue (event_id, event_type, aggregate_type, aggregate_id, payload, status, occurred_at,
       available_at, published_at, failed_at, failure_reason, retry_at, claimed_at, claim_token)
     SELECT $1, $2, 'thing', 'a', $3, $4, at, at, CASE WHEN $4 = 'done' THEN at END,
            CASE WHEN $4 = 'dead_lettered' THEN at END, CASE WHEN $4 = 'dead_lettered' THEN 'no' END,
            CASE WHEN $4 IN ('deferred', 'retrying') THEN at + interval '100 years' END,
            CASE WHEN $4 = 'processing' THEN clock_timestamp() END, CASE WHEN $4 = 'processing' THEN 7 END
       FROM (SELECT clock_timestamp() - $5::interval AS at) AS times`,
    [eventId, type, payload, status, age],
  );
  return eventId;
}

/** Ledger rows of one handler that were done so long ago, all at the same moment. */
export async function insertDoneLedger(db: Database, count: number, age: string): Promise<void> {
  await db.query(
    `INSERT INTO :schema.processed_events (event_id, handler, status, started_at, processed_at)
     SELECT gen_random_uuid(), 'mail', 'done', now() - $2::interval, now() - $2::interval FROM generate_series(1, $1::integer)`,
    [count, age],
  );
}

/** One ledger row of a handler that was done, or begun and never finished, so long ago. */
export async function insertAgedLedger(
  db: Database,
  status: 'done' | 'in_progress',
  { eventId = randomUUID(), age }: AgedRow,
): Promise<string> {
  await db.query(
    `INSERT INTO :schema.processed_events (event_id, handler, status, started_at, processed_at)
     VALUES ($1, 'mail', $2, now() - $3::interval, CASE WHEN $2 = 'done' THEN now() - $3::interval END)`,
    [eventId, status, age],
  );
  return eventId;
}
