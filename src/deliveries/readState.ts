import type { Database } from '../postgres/database';
import type { DeliveryKey } from './attempt';

const READ = `
  /* outbox: read delivery state */
  SELECT state, attempts, event_type AS "eventType", failure_reason AS reason,
         greatest(0, coalesce(extract(epoch FROM next_at - clock_timestamp()) * 1000, 0))::float8 AS "dueInMs"
    FROM :schema.deliveries WHERE event_id = $1 AND handler = $2`;

export interface DeliveryState {
  readonly state: 'waiting' | 'dead' | 'skipped';
  readonly attempts: number;
  readonly eventType: string;
  readonly reason: string | null;
  /** 0 for one that waits for nothing. */
  readonly dueInMs: number;
}

/** @returns undefined when the handler has finished, or never was handed over */
export async function readDeliveryState(db: Database, key: DeliveryKey): Promise<DeliveryState | undefined> {
  return (await db.query<{ [name in keyof DeliveryState]: DeliveryState[name] }>(READ, [key.eventId, key.handler]))
    .rows[0];
}
