import type { ClaimedEvent } from '../event';
import type { Database } from '../postgres/database';

/** What a claim statement took. */
export interface Claimed {
  /** False when a newer claim has bumped the fence: this one is over and took nothing. */
  readonly held: boolean;
  /** More rows were due than fitted into the bytes. */
  readonly overflow: boolean;
  readonly bytes: number;
  /** Age of the oldest row taken, by the database's clock. */
  readonly lagMs: number;
  /** Ordered by (available_at, id). */
  readonly events: ClaimedEvent[];
}

/** What a row weighs in the worker's memory: a foreign writer's headers have no limit of their own. */
const BYTES = `payload_bytes + coalesce(octet_length(headers::text), 0)`;

const COLUMNS = `
    id, event_id AS "eventId", event_type AS "eventType", aggregate_type AS "aggregateType",
    aggregate_id AS "aggregateId", company_id AS "companyId", org_unit_id AS "orgUnitId",
    payload::text AS "payload", headers, version,
    correlation_id AS "correlationId", causation_id AS "causationId",
    coalesce(to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), occurred_at::text) AS "occurredAt",
    CASE WHEN available_at NOT BETWEEN occurred_at - interval '1 second' AND occurred_at + interval '1 second'
         THEN to_char(available_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END AS "availableAt",
    deferrals, failure_reason AS "failureReason", ${BYTES} AS "bytes"`;

/** The same by their names outside; `available_at` stays in PostgreSQL, as a Date for each row would cost more than the claim. */
const NAMES = `
    id, "eventId", "eventType", "aggregateType", "aggregateId", "companyId", "orgUnitId", payload, headers, version,
    "correlationId", "causationId", "occurredAt", "availableAt", deferrals, "failureReason", bytes`;

/**
 * The fence is read FOR SHARE, so a newer claim's bump waits for this statement and then sees all that it took; a
 * token behind the fence takes nothing. Negative tokens (`drainOnce`) stand outside the fence.
 * MATERIALIZED and the array keep the locked rows from being selected a second time under any plan, which is how
 * others came to take more than their limit (C02).
 * A foreign writer may have written an infinite time; before version 17 PostgreSQL fails on its difference to another.
 */
const CLAIM_DUE = `
  /* outbox: claim */
  WITH fence AS MATERIALIZED (
    SELECT epoch FROM :schema.relay_fence WHERE $1::bigint < 0 OR epoch = $1::bigint FOR SHARE
  ), due AS MATERIALIZED (
    SELECT id, ${BYTES} AS bytes, coalesce(retry_at, available_at) AS due_at
      FROM :schema.event_queue
     WHERE status IN ('pending', 'deferred')
       AND coalesce(retry_at, available_at) <= statement_timestamp()
       AND EXISTS (SELECT FROM fence)
     ORDER BY coalesce(retry_at, available_at), id
     LIMIT $2::integer
       FOR UPDATE SKIP LOCKED
  ), sized AS (
    SELECT id, bytes, sum(bytes) OVER (ORDER BY due_at, id) AS running FROM due
  ), taken AS (
    UPDATE :schema.event_queue
       SET status = 'processing', claimed_at = clock_timestamp(), claim_token = $1::bigint,
           event_id = coalesce(event_id, gen_random_uuid())
     WHERE id = ANY (ARRAY(SELECT id FROM sized WHERE running <= $3::bigint OR ($4 AND running = bytes)))
    RETURNING available_at, ${COLUMNS}
  )
  SELECT EXISTS (SELECT FROM fence) AS held, (SELECT count(*)::integer FROM due) AS due,
         CASE WHEN isfinite(available_at)
              THEN (extract(epoch FROM clock_timestamp() - available_at) * 1000)::float8 END AS "ageMs", ${NAMES}
    FROM (VALUES (true)) AS always LEFT JOIN taken ON true
   ORDER BY available_at, id`;

/**
 * Takes rows that are due, at most `rows` of them and `bytes` of payload. One statement, so nothing is taken twice and
 * no connection is held afterwards.
 *
 * @param limits.orOne take a first row that is larger than `bytes` alone, else nothing could ever take it. Default true;
 *   a claim that holds rows already says false.
 */
export async function claimDue(
  db: Database,
  token: string,
  limits: { rows: number; bytes: number; orOne?: boolean },
): Promise<Claimed> {
  const values = [token, limits.rows, limits.bytes, limits.orOne ?? true];
  const { rows } = await db.query<ClaimRow>(CLAIM_DUE, values, { prepared: true });
  return toClaimed(rows);
}

const CLAIM_PROBE = `
  /* outbox: claim probe */
  WITH fence AS MATERIALIZED (
    SELECT epoch FROM :schema.relay_fence WHERE epoch = $1::bigint FOR SHARE
  ), bounds AS MATERIALIZED (
    SELECT (SELECT min(id) FROM :schema.event_queue WHERE status = 'deferred') AS lowest,
           (SELECT max(id) FROM :schema.event_queue WHERE status = 'deferred') AS highest
  ), pick AS MATERIALIZED (
    SELECT id FROM :schema.event_queue
     WHERE status = 'deferred' AND EXISTS (SELECT FROM fence)
       AND id >= (SELECT lowest + floor(random() * (highest - lowest + 1))::bigint FROM bounds)
     ORDER BY id LIMIT 1
       FOR UPDATE SKIP LOCKED
  ), taken AS (
    UPDATE :schema.event_queue
       SET status = 'processing', claimed_at = clock_timestamp(), claim_token = $1::bigint,
           event_id = coalesce(event_id, gen_random_uuid())
     WHERE id = ANY (ARRAY(SELECT id FROM pick))
    RETURNING ${COLUMNS}
  )
  SELECT EXISTS (SELECT FROM fence) AS held, 0 AS due, 0::float8 AS "ageMs", ${NAMES}
    FROM (VALUES (true)) AS always LEFT JOIN taken ON true`;

/**
 * Takes one deferred row before its time, at random: a fixed choice could be the one row that nothing will ever mend,
 * and would hide that all others could go.
 */
export async function claimProbe(db: Database, token: string): Promise<Claimed> {
  const { rows } = await db.query<ClaimRow>(CLAIM_PROBE, [token]);
  return toClaimed(rows);
}

const READ_CLAIMED = `
  /* outbox: read claimed */
  SELECT true AS held, 0 AS due, 0::float8 AS "ageMs", ${COLUMNS}
    FROM :schema.event_queue
   WHERE status = 'processing' AND claim_token = $1::bigint
   ORDER BY available_at, id`;

/** The rows that a token holds, for a worker that publishes in place of the one that claimed them. */
export async function readClaimed(db: Database, token: string): Promise<Claimed> {
  const { rows } = await db.query<ClaimRow>(READ_CLAIMED, [token]);
  return toClaimed(rows);
}

type ClaimRow = ClaimedEvent & {
  held: boolean;
  due: number;
  ageMs: number | null;
  bytes: number;
};

function toClaimed(rows: ClaimRow[]): Claimed {
  const taken = rows.filter((row) => row.id !== null);
  return {
    held: rows[0]?.held ?? true,
    overflow: (rows[0]?.due ?? 0) > taken.length,
    bytes: taken.reduce((sum, row) => sum + row.bytes, 0),
    lagMs: Math.max(0, taken[0]?.ageMs ?? 0),
    events: taken,
  };
}
