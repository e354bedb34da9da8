import type { Queryable } from 'temporal-outbox/producer';

/**
 * Until the transaction ends, nobody else changes what stands between this user and this actor: a follow that is accepted
 * while the user blocks the actor would otherwise outlive the block, neither transaction having seen the other's row.
 */
export async function lockRelation(tx: Queryable, userId: string, actor: string): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('relation ' || $1 || ' ' || $2, 0))`, [userId, actor]);
}

/** Needs the relation's lock. */
export async function isBlocked(tx: Queryable, userId: string, actor: string): Promise<boolean> {
  const { rows } = await tx.query('SELECT FROM blocks WHERE user_id = $1 AND actor = $2 AND active', [userId, actor]);
  return rows.length > 0;
}
