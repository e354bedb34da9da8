import type { Database } from '../postgres/database';

/*
 * The terminal writes. Each is conditioned on the claim token: a worker that was frozen or cut off writes nothing
 * once its rows belong to another claim. Each returns the rows it changed; fewer than asked for means that the rest
 * had been taken over, and their new owner settles them.
 */

const MARK_DONE = `
  /* outbox: mark done */
  UPDATE :schema.event_queue
     SET status = 'done', published_at = clock_timestamp(),
         claimed_at = NULL, claim_token = NULL, retry_at = NULL, failure_reason = NULL
   WHERE status = 'processing' AND claim_token = $1::bigint AND id <> ALL ($2::bigint[])`;

/** Everything the token holds was acknowledged, but for `except`. */
export async function markDone(db: Database, token: string, except: readonly string[]): Promise<number> {
  return (await db.query(MARK_DONE, [token, except])).rowCount ?? 0;
}

const MARK_SOME_DONE = `
  /* outbox: mark some done */
  UPDATE :schema.event_queue
     SET status = 'done', published_at = clock_timestamp(),
         claimed_at = NULL, claim_token = NULL, retry_at = NULL, failure_reason = NULL
   WHERE status = 'processing' AND claim_token = $1::bigint AND id = ANY ($2::bigint[])`;

/** For a worker that stops: only these were acknowledged for certain. */
export async function markSomeDone(db: Database, token: string, ids: readonly string[]): Promise<number> {
  return (await db.query(MARK_SOME_DONE, [token, ids])).rowCount ?? 0;
}

const DEFER = `
  /* outbox: defer */
  UPDATE :schema.event_queue
     SET status = 'deferred', deferrals = deferrals + 1, failure_reason = $3,
         retry_at = clock_timestamp()
           + least($5::float8, $4::float8 * power(2::float8, least(deferrals, 31))) * interval '1 millisecond',
         claimed_at = NULL, claim_token = NULL
   WHERE status = 'processing' AND claim_token = $1::bigint AND id = ANY ($2::bigint[])`;

/**
 * The row or its stream could not take the event now: try again on the shared schedule (`retryBackoff`, computed here
 * by the database's clock), without spending an attempt.
 */
export async function defer(
  db: Database,
  token: string,
  ids: readonly string[],
  reason: string,
  backoff: { firstMs: number; maxMs: number },
): Promise<number> {
  return (await db.query(DEFER, [token, ids, reason, backoff.firstMs, backoff.maxMs])).rowCount ?? 0;
}

const PUT_BACK = `
  /* outbox: put back probe */
  UPDATE :schema.event_queue
     SET status = 'deferred', claimed_at = NULL, claim_token = NULL
   WHERE status = 'processing' AND claim_token = $1::bigint AND id = ANY ($2::bigint[]) AND retry_at IS NOT NULL`;

/** A probe that failed leaves its row as it was: neither its due time nor its deferrals grow by being looked at. */
export async function putBackProbe(db: Database, token: string, ids: readonly string[]): Promise<number> {
  return (await db.query(PUT_BACK, [token, ids])).rowCount ?? 0;
}

const BURY = `
  /* outbox: bury */
  UPDATE :schema.event_queue
     SET status = 'dead_lettered', failed_at = clock_timestamp(), failure_reason = $3,
         claimed_at = NULL, claim_token = NULL, retry_at = NULL
   WHERE status = 'processing' AND claim_token = $1::bigint AND id = ANY ($2::bigint[])`;

/** The broker can never take these: they become dead letters, for an operator to re-emit. */
export async function bury(db: Database, token: string, ids: readonly string[], reason: string): Promise<number> {
  return (await db.query(BURY, [token, ids, reason])).rowCount ?? 0;
}

const FREE = `
  /* outbox: free */
  UPDATE :schema.event_queue
     SET status = 'pending', claimed_at = NULL, claim_token = NULL, retry_at = NULL
   WHERE status = 'processing' AND claim_token = $1::bigint AND ($2::bigint[] IS NULL OR id = ANY ($2::bigint[]))`;

/** Hands rows back as pending and due, attempts and deferrals unspent; `undefined` means all that the token holds. */
export async function free(db: Database, token: string, ids?: readonly string[]): Promise<number> {
  return (await db.query(FREE, [token, ids ?? null])).rowCount ?? 0;
}

const FREE_DEFERRED = `
  /* outbox: free deferred */
  UPDATE :schema.event_queue
     SET status = 'pending', retry_at = NULL
   WHERE id = ANY (ARRAY(
     SELECT id FROM :schema.event_queue
      WHERE status = 'deferred' AND failure_reason = ANY ($1::text[])
      ORDER BY failure_reason, id LIMIT $2::integer
        FOR UPDATE SKIP LOCKED))`;

/**
 * What deferred these rows has been mended, as a row with the same reason has just gone out: they need not wait for
 * their due time. Limited, so that a long backlog is freed step by step, each published step freeing the next.
 */
export async function freeDeferred(db: Database, reasons: readonly string[], limit: number): Promise<number> {
  return (await db.query(FREE_DEFERRED, [reasons, limit])).rowCount ?? 0;
}

const RETRY = `
  /* outbox: leave to runs */
  UPDATE :schema.event_queue q
     SET status = 'retrying', claimed_at = NULL, claim_token = NULL,
         attempts = greatest(q.attempts, coalesce(d.attempts, 0)),
         retry_at = coalesce(d.next_at, clock_timestamp()), failure_reason = d.reason
    FROM :schema.event_queue same
    LEFT JOIN LATERAL (
      SELECT max(attempts) AS attempts, min(next_at) AS next_at, min(failure_reason) AS reason
        FROM :schema.deliveries WHERE event_id = same.event_id
    ) AS d ON true
   WHERE same.id = q.id AND q.status = 'processing' AND q.claim_token = $1::bigint AND q.id = ANY ($2::bigint[])
  RETURNING q.event_id AS "eventId"`;

/**
 * Delivery runs see these through (backend `db`). Not the end: `settleRow` must follow, for those whose deliveries are
 * over already.
 *
 * @returns their event ids
 */
export async function retry(db: Database, token: string, ids: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ eventId: string }>(RETRY, [token, ids]);
  return rows.map(({ eventId }) => eventId);
}
