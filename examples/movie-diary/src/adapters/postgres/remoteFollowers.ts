import type { NewEvent, Queryable } from 'temporal-outbox/producer';
import type { RemoteFollower, RemoteFollowers } from '../../ports/remoteFollows';
import { write, type Connection } from './connection';
import { isBlocked, lockRelation } from './relation';

const COLUMNS = 'actor, inbox, active, version';

export class PostgresRemoteFollowers implements RemoteFollowers {
  constructor(private readonly connection: Connection) {}

  find(userId: string, actor: string): Promise<RemoteFollower | undefined> {
    return find(this.connection.db, userId, actor);
  }

  async inboxesOf(userId: string): Promise<string[]> {
    const { rows } = await this.connection.db.query(
      `SELECT DISTINCT inbox FROM remote_followers f
        WHERE user_id = $1 AND active
          AND NOT EXISTS (SELECT FROM blocks b WHERE b.user_id = f.user_id AND b.actor = f.actor AND b.active)
        ORDER BY inbox`,
      [userId],
    );
    return (rows as { inbox: string }[]).map(({ inbox }) => inbox);
  }

  save(userId: string, follower: RemoteFollower, events: readonly NewEvent[]): Promise<boolean> {
    const { actor } = follower;
    return this.connection.transaction(async (tx) => {
      await lockRelation(tx, userId, actor);
      const before = await find(tx, userId, actor);
      if (before && before.version >= follower.version) return false;
      const active = follower.active && !(await isBlocked(tx, userId, actor));
      await put(tx, userId, { ...follower, active });
      // A follow of a new version has a new answer, whether or not the end before it has arrived.
      const changed = active || (!follower.active && before?.active === true);
      if (changed) await write(tx, events);
      return changed;
    });
  }

  remove(userId: string, actor: string, removed: (version: number) => readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      await lockRelation(tx, userId, actor);
      const version = await endFollower(tx, userId, actor);
      if (version === undefined) return false;
      await write(tx, removed(version));
      return true;
    });
  }
}

async function find(db: Queryable, userId: string, actor: string): Promise<RemoteFollower | undefined> {
  const { rows } = await db.query(`SELECT ${COLUMNS} FROM remote_followers WHERE user_id = $1 AND actor = $2`, [
    userId,
    actor,
  ]);
  return rows[0] as RemoteFollower | undefined;
}

async function put(tx: Queryable, userId: string, { actor, inbox, active, version }: RemoteFollower): Promise<void> {
  await tx.query(
    `INSERT INTO remote_followers (user_id, actor, inbox, active, version) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (user_id, actor) DO UPDATE SET inbox = excluded.inbox, active = excluded.active, version = excluded.version`,
    [userId, actor, inbox, active, version],
  );
}

/** @returns the version, which stays; undefined when the actor does not follow the user */
export async function endFollower(tx: Queryable, userId: string, actor: string): Promise<number | undefined> {
  const { rows } = await tx.query(
    'UPDATE remote_followers SET active = false WHERE user_id = $1 AND actor = $2 AND active RETURNING version',
    [userId, actor],
  );
  return (rows[0] as { version: number } | undefined)?.version;
}
