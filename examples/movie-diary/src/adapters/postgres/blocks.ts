import type { NewEvent, Queryable } from 'temporal-outbox/producer';
import type { Block, Blocks, EndedByBlock } from '../../ports/blocks';
import { write, type Connection } from './connection';
import { lockRelation } from './relation';
import { endFollower } from './remoteFollowers';
import { endFollowing } from './remoteFollowings';

export class PostgresBlocks implements Blocks {
  constructor(private readonly connection: Connection) {}

  async find(userId: string, actor: string): Promise<Block | undefined> {
    const { rows } = await this.connection.db.query(
      'SELECT actor, active, version FROM blocks WHERE user_id = $1 AND actor = $2',
      [userId, actor],
    );
    return rows[0] as Block | undefined;
  }

  save(userId: string, block: Block, events: readonly NewEvent[], ended?: EndedByBlock): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      await lockRelation(tx, userId, block.actor);
      if (!(await next(tx, userId, block))) return false;
      await write(tx, events);
      if (ended) await endFollows(tx, userId, block.actor, ended);
      return true;
    });
  }
}

async function next(tx: Queryable, userId: string, { actor, active, version }: Block): Promise<boolean> {
  const { rowCount } = await tx.query(
    version === 1
      ? `INSERT INTO blocks (user_id, actor, active, version) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
      : `UPDATE blocks SET active = $3, version = $4 WHERE user_id = $1 AND actor = $2 AND version = $4 - 1`,
    [userId, actor, active, version],
  );
  return rowCount === 1;
}

async function endFollows(tx: Queryable, userId: string, actor: string, ended: EndedByBlock): Promise<void> {
  const follower = await endFollower(tx, userId, actor);
  if (follower !== undefined) await write(tx, ended.followerRemoved(follower));
  const following = await endFollowing(tx, userId, actor);
  if (following !== undefined) await write(tx, ended.followingEnded(following));
}
