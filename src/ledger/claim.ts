import type { WaitingDelivery } from '../workflows/deliveryMessages';
import type { Database } from '../postgres/database';

/** One handler of one event. */
export interface LedgerKey {
  readonly eventId: string;
  readonly handler: string;
}

/** A claim that is ours: `startedAt`, milliseconds since 1970 by the database's clock, is the owner token. */
export interface LedgerClaim extends LedgerKey {
  readonly startedAt: number;
}

/** One to be claimed. */
export interface DueKey extends LedgerKey {
  /** When its event was due, in milliseconds since 1970. */
  readonly dueMs?: number;
}

export type LedgerVerdict =
  /** `ageMs`: since its event was due, by the database's clock; NaN where `dueMs` was not given or no time. */
  | { readonly kind: 'claimed'; readonly startedAt: number; readonly ageMs: number }
  | { readonly kind: 'done' }
  /** Somebody is at work on it, or was a moment ago: look again after `forMs`. */
  | { readonly kind: 'held'; readonly forMs: number }
  /** Begun, and its lease is over: the worker that began is gone. `sinceMs` is the age of its last sign of life. */
  | { readonly kind: 'lost'; readonly startedAt: number; readonly sinceMs: number }
  /** It has failed or waits already; its delivery run sees it through. */
  | { readonly kind: 'delivery'; readonly state: string; readonly delivery: WaitingDelivery };

export interface LedgerAnswer {
  readonly verdicts: LedgerVerdict[];
  /** Of the recorded set of handlers; a worker whose copy is older reads it again before it finishes an event. */
  readonly revision: string;
}

/** Leases of the ledger, in milliseconds. */
export interface LeaseTimes {
  readonly leaseMs: number;
  /** For claims without `lease_until`. */
  readonly maxLeaseMs: number;
}

/**
 * Milliseconds as `started_at` holds them. `timestamptz(3)` has no more, so that the number read is the number written:
 * with microseconds every comparison would fail (C15).
 */
export const STARTED_MS = `(extract(epoch FROM started_at) * 1000)::float8`;
export const startedAt = (parameter: string) => `to_timestamp(${parameter} / 1000.0)::timestamptz(3)`;

/** How a claim `p` stands: its rest, and the age of its last sign of life. $3 is the lease, $4 the longest one. */
export const LEASE_COLUMNS = `p.status, (extract(epoch FROM p.started_at) * 1000)::float8 AS "startedAt",
         (extract(epoch FROM coalesce(p.lease_until, p.started_at + $4::float8 * interval '1 millisecond')
                             - clock_timestamp()) * 1000)::float8 AS "endsInMs",
         (extract(epoch FROM clock_timestamp() - greatest(p.started_at, p.lease_until - $3::float8 * interval '1 millisecond'))
                             * 1000)::float8 AS "silentMs"`;

/**
 * `ON CONFLICT DO NOTHING` waits for a rival's insert and then does nothing: no unique violation ever (C17). What the
 * rival wrote is behind this statement's snapshot, hence the last branch of `verdictOf`. In order of the key, so that two
 * statements over the same events cannot deadlock.
 */
const CLAIM = `
  /* outbox: claim ledger */
  WITH given AS MATERIALIZED (
    SELECT event_id, handler, due_ms, position
      FROM unnest($1::uuid[], $2::text[], $6::float8[]) WITH ORDINALITY AS g (event_id, handler, due_ms, position)
  ), taken AS (
    INSERT INTO :schema.processed_events (event_id, handler, status, lease_until)
    SELECT event_id, handler, 'in_progress', clock_timestamp() + $3::float8 * interval '1 millisecond'
      FROM given
     WHERE NOT EXISTS (SELECT FROM :schema.deliveries d WHERE d.event_id = given.event_id AND d.handler = given.handler)
     ORDER BY event_id, handler
    ON CONFLICT (event_id, handler) DO NOTHING
    RETURNING event_id, handler, ${STARTED_MS} AS started
  )
  SELECT taken.started AS "takenAt", (extract(epoch FROM clock_timestamp()) * 1000)::float8 - due_ms AS "ageMs", ${LEASE_COLUMNS},
         d.state, d.attempts, d.failure_reason AS reason,
         (extract(epoch FROM d.next_at - clock_timestamp()) * 1000)::float8 AS "dueInMs",
         (SELECT handlers_revision::text FROM :schema.outbox_installation) AS revision,
         (SELECT set_config('synchronous_commit', 'off', true) WHERE $5) AS relaxed
    FROM given
    LEFT JOIN taken USING (event_id, handler)
    LEFT JOIN :schema.processed_events p USING (event_id, handler)
    LEFT JOIN :schema.deliveries d USING (event_id, handler)
   ORDER BY position`;

interface ClaimRow {
  readonly takenAt: number | null;
  readonly ageMs: number | null;
  readonly status: string | null;
  readonly startedAt: number | null;
  readonly endsInMs: number | null;
  readonly silentMs: number | null;
  readonly state: string | null;
  readonly attempts: number;
  readonly reason: string | null;
  readonly dueInMs: number | null;
  readonly revision: string;
}

/** A rival's claim that our snapshot does not show yet. */
const UNSEEN_MS = 50;

/**
 * Claims a group of handlings just before they begin, in one statement. An event that has a delivery is refused, so that
 * the fast path and a delivery run never handle it both.
 *
 * @param times.relaxed do not wait for the disk: for transactional handlers, whose commit fails when PostgreSQL has lost
 *   their claim in a crash, and who then claim again. An external effect cannot be taken back, so its claim must be there
 *   before it begins.
 * @returns one verdict for each key, in their order
 */
export async function claimLedger(
  db: Database,
  keys: readonly DueKey[],
  { leaseMs, maxLeaseMs, relaxed = false }: LeaseTimes & { relaxed?: boolean },
): Promise<LedgerAnswer> {
  const values = [
    keys.map(({ eventId }) => eventId),
    keys.map(({ handler }) => handler),
    ...[leaseMs, maxLeaseMs, relaxed],
    keys.map(({ dueMs = NaN }) => (Number.isFinite(dueMs) ? dueMs : null)),
  ];
  const { rows } = await db.query<ClaimRow>(CLAIM, values, { prepared: true });
  const seen = new Set<string>();
  return {
    verdicts: rows.map((row, index) => {
      const { eventId = '', handler = '' } = keys[index] ?? {};
      const verdict = verdictOf(row, handler);
      // One event delivered twice, and asked for twice in one statement: the join gave both the one claim.
      const again = seen.size === seen.add(`${eventId} ${handler}`).size;
      return again && verdict.kind === 'claimed' ? { kind: 'held', forMs: UNSEEN_MS } : verdict;
    }),
    revision: rows[0]?.revision ?? '',
  };
}

function verdictOf(row: ClaimRow, handler: string): LedgerVerdict {
  if (row.takenAt !== null) return { kind: 'claimed', startedAt: row.takenAt, ageMs: row.ageMs ?? NaN };
  if (row.status === 'done') return { kind: 'done' };
  if (row.state !== null) {
    const { state, attempts, reason } = row;
    const dueInMs = Math.max(0, row.dueInMs ?? 0);
    return { kind: 'delivery', state, delivery: { handler, attempts, dueInMs, reason, dead: state === 'dead' } };
  }
  if (row.startedAt === null) return { kind: 'held', forMs: UNSEEN_MS };
  const endsInMs = row.endsInMs ?? 0;
  if (endsInMs > 0) return { kind: 'held', forMs: Math.ceil(endsInMs) };
  return { kind: 'lost', startedAt: row.startedAt, sinceMs: row.silentMs ?? 0 };
}
