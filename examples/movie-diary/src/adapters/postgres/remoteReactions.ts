import type { RemoteReaction, RemoteReactions } from '../../ports/remoteReactions';
import type { Connection } from './connection';

export class PostgresRemoteReactions implements RemoteReactions {
  constructor(private readonly connection: Connection) {}

  async ofReview(reviewUri: string): Promise<Pick<RemoteReaction, 'actor' | 'kind'>[]> {
    const { rows } = await this.connection.db.query(
      `SELECT actor, kind FROM remote_reactions
        WHERE object = $1 AND kind IN ('like', 'announce') AND active ORDER BY kind, actor`,
      [reviewUri],
    );
    return rows as Pick<RemoteReaction, 'actor' | 'kind'>[];
  }

  save({ actor, kind, object, active, version }: RemoteReaction): Promise<number | undefined> {
    return this.connection.transaction(async (tx) => {
      // First a row, then its lock: of two that come at once, the second must see what the first has made of it.
      await tx.query(
        `INSERT INTO remote_reactions (actor, kind, object, active, version) VALUES ($1, $2, $3, false, 0)
         ON CONFLICT DO NOTHING`,
        [actor, kind, object],
      );
      const { rows } = await tx.query(
        `SELECT version FROM remote_reactions WHERE actor = $1 AND kind = $2 AND object = $3 AND version < $4 FOR UPDATE`,
        [actor, kind, object, version],
      );
      const before = rows[0] as { version: number } | undefined;
      if (!before) return undefined;
      await tx.query(
        `UPDATE remote_reactions SET active = $4, version = $5 WHERE actor = $1 AND kind = $2 AND object = $3`,
        [actor, kind, object, active, version],
      );
      return before.version;
    });
  }
}
