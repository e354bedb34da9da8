import { UUID } from '../event';
import type { Database } from '../postgres/database';

/** All times are ISO 8601 in UTC, or null. */
export interface FoundRow {
  readonly status: string;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly aggregateId: string;
  readonly version: number;
  readonly companyId: string | null;
  readonly orgUnitId: string | null;
  readonly correlationId: string | null;
  readonly causationId: string | null;
  readonly headerNames: readonly string[];
  readonly payloadBytes: number;
  readonly attempts: number;
  readonly deferrals: number;
  readonly reason: string | null;
  readonly occurredAt: string | null;
  readonly availableAt: string | null;
  readonly retryAt: string | null;
  readonly claimedAt: string | null;
  readonly publishedAt: string | null;
  readonly failedAt: string | null;
}

export interface FoundLedger {
  readonly handler: string;
  readonly status: string;
  readonly startedAt: string;
  readonly leaseUntil: string | null;
  readonly processedAt: string | null;
}

export interface FoundDelivery {
  readonly handler: string;
  readonly state: string;
  readonly attempts: number;
  readonly nextAt: string | null;
  readonly dueInMs: number;
  readonly reason: string | null;
  readonly failedAt: string | null;
  /** `outbox`, or stream and sequence. */
  readonly source: string;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly aggregateId: string;
}

/** What PostgreSQL knows of an event; never its body. */
export interface FoundEvent {
  readonly row: FoundRow | null;
  readonly ledger: readonly FoundLedger[];
  readonly deliveries: readonly FoundDelivery[];
  /** Event types by recorded handler. */
  readonly recorded: Readonly<Record<string, readonly string[]>>;
}

const utc = (column: string) =>
  `coalesce(to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), ${column}::text)`;

/** Two objects, since one takes at most 100 arguments and a reader fewer. A foreign writer's headers may be no object. */
const LOOK_UP = `
  /* outbox: look up event */
  SELECT (SELECT jsonb_build_object(
            'status', status, 'eventType', event_type, 'aggregateType', aggregate_type, 'aggregateId', aggregate_id,
            'version', version, 'companyId', company_id, 'orgUnitId', org_unit_id,
            'correlationId', correlation_id, 'causationId', causation_id, 'payloadBytes', payload_bytes,
            'attempts', attempts, 'deferrals', deferrals, 'reason', failure_reason,
            'headerNames', CASE WHEN jsonb_typeof(headers) = 'object'
                                THEN (SELECT coalesce(jsonb_agg(name ORDER BY name), '[]') FROM jsonb_object_keys(headers) AS name)
                                ELSE '[]'::jsonb END)
          || jsonb_build_object(
            'occurredAt', ${utc('occurred_at')}, 'availableAt', ${utc('available_at')}, 'retryAt', ${utc('retry_at')},
            'claimedAt', ${utc('claimed_at')}, 'publishedAt', ${utc('published_at')}, 'failedAt', ${utc('failed_at')})
            FROM :schema.event_queue WHERE event_id = $1::uuid) AS row,
         (SELECT coalesce(jsonb_agg(jsonb_build_object(
            'handler', handler, 'status', status, 'startedAt', ${utc('started_at')}, 'leaseUntil', ${utc('lease_until')},
            'processedAt', ${utc('processed_at')}) ORDER BY handler), '[]')
            FROM :schema.processed_events WHERE event_id = $1::uuid) AS ledger,
         (SELECT coalesce(jsonb_agg(jsonb_build_object(
            'handler', handler, 'state', state, 'attempts', attempts, 'nextAt', ${utc('next_at')}, 'reason', failure_reason,
            'dueInMs', CASE WHEN isfinite(next_at) THEN greatest(0, extract(epoch FROM next_at - clock_timestamp()) * 1000) ELSE 0 END,
            'failedAt', ${utc('failed_at')}, 'source', source, 'eventType', event_type, 'aggregateType', aggregate_type,
            'aggregateId', aggregate_id) ORDER BY handler), '[]')
            FROM :schema.deliveries WHERE event_id = $1::uuid) AS deliveries,
         (SELECT handler_events FROM :schema.outbox_installation) AS recorded`;

/** @returns undefined when nothing is known of the event; handlers that took a stream's event leave their ledger rows */
export async function lookUpEvent(db: Database, eventId: string): Promise<FoundEvent | undefined> {
  if (!UUID.test(eventId)) return undefined;
  const { rows } = await db.query<{ [name in keyof FoundEvent]: FoundEvent[name] }>(LOOK_UP, [eventId]);
  const found = rows[0];
  if (!found || (!found.row && found.ledger.length === 0 && found.deliveries.length === 0)) return undefined;
  return { ...found, recorded: found.recorded ?? {} };
}
