import type { NewEvent } from 'temporal-outbox/producer';
import type { LocalFollow, LocalFollows } from '../../ports/localFollows';
import { write, type Connection } from './connection';

export class PostgresLocalFollows implements LocalFollows {
  constructor(private readonly connection: Connection) {}

  async find(followerId: string, followeeId: string): Promise<LocalFollow | undefined> {
    const { rows } = await this.connection.db.query(
      `SELECT follower_id AS "followerId", followee_id AS "followeeId", active, version
         FROM local_follows WHERE follower_id = $1 AND followee_id = $2`,
      [followerId, followeeId],
    );
    return rows[0] as LocalFollow | undefined;
  }

  save({ followerId, followeeId, active, version }: LocalFollow, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        version === 1
          ? `INSERT INTO local_follows (follower_id, followee_id, active, version) VALUES ($1, $2, $3, $4)
             ON CONFLICT DO NOTHING`
          : `UPDATE local_follows SET active = $3, version = $4
              WHERE follower_id = $1 AND followee_id = $2 AND version = $4 - 1`,
        [followerId, followeeId, active, version],
      );
      if (rowCount !== 1) return false;
      await write(tx, events);
      return true;
    });
  }
}
