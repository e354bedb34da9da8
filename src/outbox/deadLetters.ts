import { UUID } from '../event';
import { wakeChannel } from '../postgres/channel';
import { binder, type Queryable } from '../postgres/database';
import { schemaOf } from '../postgres/schemaName';
import type { DeadLetterFilter, ReemitAllResult, ReemitResult } from '../workflows/messages';

/** An event that the relay gave up. Its body stays in the database: read it there, by id. */
export interface DeadLetter {
  readonly eventId: string;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly aggregateId: string;
  readonly companyId: string | null;
  readonly failedAt: Date;
  readonly reason: string;
  readonly attempts: number;
  readonly deferrals: number;
}

export interface DeadLetterOptions {
  /** Default: OUTBOX_SCHEMA, else `public`. */
  readonly schema?: string;
}

const LIST_DEAD = `
  SELECT event_id AS "eventId", event_type AS "eventType", aggregate_type AS "aggregateType",
         aggregate_id AS "aggregateId", company_id AS "companyId", failed_at AS "failedAt",
         coalesce(failure_reason, 'no reason was recorded') AS reason, attempts, deferrals
    FROM :schema.event_queue
   WHERE status = 'dead_lettered'
     AND ($1::text IS NULL OR event_type = $1) AND ($2::uuid IS NULL OR company_id = $2)
     AND ($3::float8 IS NULL OR failed_at >= to_timestamp($3))
   ORDER BY failed_at, id
   LIMIT $4::integer`;

/** Dead letters, oldest first. @param options.limit default 100 */
export async function listDead(
  db: Queryable,
  options: DeadLetterOptions & DeadLetterFilter & { limit?: number } = {},
): Promise<DeadLetter[]> {
  const bind = binder(schemaOf(options.schema));
  const { rows } = await db.query(bind(LIST_DEAD), [...filterValues(options), options.limit ?? 100]);
  return rows as DeadLetter[];
}

const REEMIT = `
  WITH asked AS (SELECT DISTINCT unnest($1::uuid[]) AS event_id), revived AS (
    UPDATE :schema.event_queue
       SET status = 'pending', attempts = 0, deferrals = 0, failed_at = NULL, failure_reason = NULL, retry_at = NULL
     WHERE status = 'dead_lettered' AND event_id = ANY ($1::uuid[])
    RETURNING event_id
  ), woken AS (
    SELECT pg_notify($2, '') FROM (SELECT FROM revived LIMIT 1) AS any_revived
  )
  SELECT asked.event_id AS id, revived.event_id IS NOT NULL AS revived, q.status, (SELECT count(*) FROM woken) AS woken
    FROM asked
    LEFT JOIN revived USING (event_id)
    LEFT JOIN :schema.event_queue q USING (event_id)`;

/**
 * Hands dead letters back with a fresh budget: pending, attempts and deferrals 0, reason cleared. What is not a dead
 * letter is not changed, and is reported with the reason; asking twice is harmless.
 */
export async function reemit(
  db: Queryable,
  ids: readonly string[],
  options: DeadLetterOptions = {},
): Promise<ReemitResult> {
  const schema = schemaOf(options.schema);
  const wellFormed = ids.filter((id) => UUID.test(id));
  const refused = ids
    .filter((id) => !UUID.test(id))
    .map((id) => ({ id: id.slice(0, 100), reason: 'not an event id: an event id is a UUID' }));
  if (wellFormed.length === 0) return { revived: [], refused };
  const { rows } = await db.query(binder(schema)(REEMIT), [wellFormed, wakeChannel(schema)]);
  const answers = rows as { id: string; revived: boolean; status: string | null }[];
  return {
    revived: answers.filter((row) => row.revived).map((row) => row.id),
    refused: [
      ...refused,
      ...answers.filter((row) => !row.revived).map((row) => ({ id: row.id, reason: whyNot(row.status) })),
    ],
  };
}

function whyNot(status: string | null): string {
  if (status === null) return 'unknown: no event of this id is in the outbox';
  // The statement saw it dead, and found it taken when it came to change it.
  if (status === 'dead_lettered') return 'dead_lettered: somebody else revived it at the same moment';
  if (status === 'done') return 'done: it was published, so there is nothing to revive';
  return `${status}: it is not a dead letter, the relay still works on it`;
}

const REEMIT_CHUNK = `
  WITH revived AS (
    UPDATE :schema.event_queue
       SET status = 'pending', attempts = 0, deferrals = 0, failed_at = NULL, failure_reason = NULL, retry_at = NULL
     WHERE id = ANY (ARRAY(
       SELECT id FROM :schema.event_queue
        WHERE status = 'dead_lettered' AND failed_at <= $4::timestamptz
          AND ($1::text IS NULL OR event_type = $1) AND ($2::uuid IS NULL OR company_id = $2)
          AND ($3::float8 IS NULL OR failed_at >= to_timestamp($3))
        ORDER BY failed_at, id LIMIT $5::integer
          FOR UPDATE SKIP LOCKED))
    RETURNING 1
  )
  SELECT count(*)::integer AS revived, (SELECT pg_notify($6, '') FROM (SELECT FROM revived LIMIT 1) AS any_revived)::text AS woken
    FROM revived`;

/** Rows revived by one statement: small enough to hold no lock for long, large enough for a million dead letters. */
const CHUNK = 5_000;

/**
 * Revives every dead letter that matches, in statements of 5,000 rows. What dies again meanwhile is left dead: the
 * time of the call is the limit, else a row that dies at once could be revived for ever.
 *
 * @param onChunk told after each statement how many are revived so far
 */
export async function reemitAll(
  db: Queryable,
  filter: DeadLetterFilter = {},
  options: DeadLetterOptions & { onChunk?: (revived: number) => void } = {},
): Promise<ReemitAllResult> {
  const schema = schemaOf(options.schema);
  const bind = binder(schema);
  const { rows } = await db.query(`SELECT clock_timestamp()::text AS now`);
  const now = (rows[0] as { now: string }).now;
  let revived = 0;
  for (;;) {
    const chunk = await db.query(bind(REEMIT_CHUNK), [...filterValues(filter), now, CHUNK, wakeChannel(schema)]);
    const count = (chunk.rows[0] as { revived: number }).revived;
    revived += count;
    options.onChunk?.(revived);
    if (count < CHUNK) return { revived };
  }
}

function filterValues(filter: DeadLetterFilter): (string | number | null)[] {
  return [
    filter.eventType ?? null,
    filter.companyId ?? null,
    filter.since === undefined ? null : secondsOf(filter.since),
  ];
}

/** Read here and not by PostgreSQL, which knows other spellings, and would take one without a zone for its own. */
function secondsOf(since: string): number {
  const ms = Date.parse(since);
  if (Number.isNaN(ms)) throw new RangeError(`since ${JSON.stringify(since)} is no time; write it in ISO 8601`);
  return ms / 1_000;
}
