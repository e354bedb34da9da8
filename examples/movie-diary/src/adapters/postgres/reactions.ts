import type { NewEvent } from 'temporal-outbox/producer';
import type { Reaction, ReactionKind, Reactions } from '../../ports/reactions';
import { write, type Connection } from './connection';

export class PostgresReactions implements Reactions {
  constructor(private readonly connection: Connection) {}

  async find(userId: string, kind: ReactionKind, reviewUri: string): Promise<Reaction | undefined> {
    const { rows } = await this.connection.db.query(
      `SELECT user_id AS "userId", kind, review_uri AS "reviewUri", active, version
         FROM reactions WHERE user_id = $1 AND kind = $2 AND review_uri = $3`,
      [userId, kind, reviewUri],
    );
    return rows[0] as Reaction | undefined;
  }

  save({ userId, kind, reviewUri, active, version }: Reaction, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        version === 1
          ? `INSERT INTO reactions (user_id, kind, review_uri, active, version) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING`
          : `UPDATE reactions SET active = $4, version = $5
              WHERE user_id = $1 AND kind = $2 AND review_uri = $3 AND version = $5 - 1`,
        [userId, kind, reviewUri, active, version],
      );
      if (rowCount !== 1) return false;
      await write(tx, events);
      return true;
    });
  }
}
