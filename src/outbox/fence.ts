import type { Database } from '../postgres/database';

const BUMP = `/* outbox: raise fence */ UPDATE :schema.relay_fence SET epoch = epoch + 1 RETURNING epoch::text AS token`;

/**
 * Ends every older claim and returns the token of the new one. Waits for claim statements that are under way, so
 * that what they took is visible to `takeOver`.
 */
export async function bumpFence(db: Database): Promise<string> {
  const { rows } = await db.query<{ token: string }>(BUMP);
  const row = rows[0];
  if (!row)
    throw new Error(
      `relay_fence of schema ${db.schema} is empty; run \`outbox migrate\` again after restoring its one row`,
    );
  return row.token;
}

const EPOCH = `/* outbox: read fence */ SELECT epoch::text AS epoch FROM :schema.relay_fence`;

/** Where the fence stands: it moves with each claim, wherever that runs. */
export async function readEpoch(db: Database): Promise<string | undefined> {
  return (await db.query<{ epoch: string }>(EPOCH)).rows[0]?.epoch;
}

const TAKE_OVER = `
  /* outbox: take over */
  UPDATE :schema.event_queue
     SET status = 'pending', claimed_at = NULL, claim_token = NULL, retry_at = NULL
   WHERE status = 'processing' AND claim_token >= 0 AND claim_token < $1::bigint AND claim_token <> ALL ($2::bigint[])`;

/**
 * Frees what older claims left behind: rows whose token is neither newer nor one of `openTokens`, which the workflow
 * is still settling. They are claimed again in their order. Without this, a crash would cost the 600 s lease.
 *
 * @returns rows freed
 */
export async function takeOver(db: Database, token: string, openTokens: readonly string[]): Promise<number> {
  return (await db.query(TAKE_OVER, [token, openTokens])).rowCount ?? 0;
}

const RECLAIM = `
  /* outbox: reclaim leases */
  UPDATE :schema.event_queue
     SET status = 'pending', claimed_at = NULL, claim_token = NULL, retry_at = NULL
   WHERE status = 'processing'
     AND (claimed_at IS NULL OR claimed_at < clock_timestamp() - $1::float8 * interval '1 millisecond')
     AND (claim_token IS NULL OR claim_token <> ALL ($2::bigint[]))`;

/**
 * Frees rows whose lease is over: those of a `drainOnce` that died, of a hand-written poller, and rows that were put
 * to `processing` without any time. Tokens still open in the workflow are not judged by the clock.
 *
 * @param leaseMs milliseconds, judged by the database's clock alone
 */
export async function reclaimLeases(db: Database, leaseMs: number, openTokens: readonly string[]): Promise<number> {
  return (await db.query(RECLAIM, [leaseMs, openTokens])).rowCount ?? 0;
}
