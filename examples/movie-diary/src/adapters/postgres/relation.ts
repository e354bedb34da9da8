import type { Queryable } from 'temporal-outbox/producer';

/**
 * Until the transaction ends, nobody else changes what stands between this user and this actor: a follow that is accepted
 * while the user blocks the actor would otherwise outlive the block, neither transaction having seen the other's row.
 */
export async function lockRelation(tx: Queryable, userId: string, actor: string): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('relation ' || $1 || ' ' || $2, 0))`, [userId, actor]);
}

/** As `lockRelation`, but beside others who only look at it too. */
export async function shareRelation(tx: Queryable, userId: string, actor: string): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock_shared(hashtextextended('relation ' || $1 || ' ' || $2, 0))`, [
    userId,
    actor,
  ]);
}

/** Needs the relation's lock, shared at least. */
export async function isBlocked(tx: Queryable, userId: string, actor: string): Promise<boolean> {
  const { rows } = await tx.query('SELECT FROM blocks WHERE user_id = $1 AND actor = $2 AND active', [userId, actor]);
  return rows.length > 0;
}
