import type { NewEvent, Queryable } from 'temporal-outbox/producer';
import type { RemoteFollowing, RemoteFollowings } from '../../ports/remoteFollows';
import { write, type Connection } from './connection';
import { isBlocked, lockRelation } from './relation';

export class PostgresRemoteFollowings implements RemoteFollowings {
  constructor(private readonly connection: Connection) {}

  async find(userId: string, actor: string): Promise<RemoteFollowing | undefined> {
    const { rows } = await this.connection.db.query(
      'SELECT actor, state, version FROM remote_followings WHERE user_id = $1 AND actor = $2',
      [userId, actor],
    );
    return rows[0] as RemoteFollowing | undefined;
  }

  save(userId: string, following: RemoteFollowing, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      await lockRelation(tx, userId, following.actor);
      // Else a request could slip past a block that begins at the same time, and ends only what it sees.
      if (following.state === 'requested' && (await isBlocked(tx, userId, following.actor))) return false;
      if (!(await next(tx, userId, following))) return false;
      await write(tx, events);
      return true;
    });
  }

  accept(userId: string, actor: string, version: number, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      // As everybody who changes it: a block locks the relation first and then this row, and must not meet us half-way.
      await lockRelation(tx, userId, actor);
      const { rowCount } = await tx.query(
        `UPDATE remote_followings SET state = 'accepted'
          WHERE user_id = $1 AND actor = $2 AND version = $3 AND state = 'requested'`,
        [userId, actor, version],
      );
      if (rowCount !== 1) return false;
      await write(tx, events);
      return true;
    });
  }
}

/** Needs the relation's lock, since two first versions at once have no row to meet at. */
async function next(tx: Queryable, userId: string, { actor, state, version }: RemoteFollowing): Promise<boolean> {
  const { rowCount } = await tx.query(
    version === 1
      ? `INSERT INTO remote_followings (user_id, actor, state, version) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
      : `UPDATE remote_followings SET state = $3, version = $4 WHERE user_id = $1 AND actor = $2 AND version = $4 - 1`,
    [userId, actor, state, version],
  );
  return rowCount === 1;
}

/** @returns the version of its end; undefined when the user follows no such actor */
export async function endFollowing(tx: Queryable, userId: string, actor: string): Promise<number | undefined> {
  const { rows } = await tx.query(
    `UPDATE remote_followings SET state = 'ended', version = version + 1
      WHERE user_id = $1 AND actor = $2 AND state <> 'ended' RETURNING version`,
    [userId, actor],
  );
  return (rows[0] as { version: number } | undefined)?.version;
}
