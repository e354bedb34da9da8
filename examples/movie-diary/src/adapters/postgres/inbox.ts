import type { NewEvent } from 'temporal-outbox/producer';
import type { Inbox, ReceivedActivity } from '../../ports/inbox';
import { write, type Connection } from './connection';
import { isBlocked, shareRelation } from './relation';

export class PostgresInbox implements Inbox {
  constructor(private readonly connection: Connection) {}

  async find(id: string, userId: string): Promise<ReceivedActivity | undefined> {
    const { rows } = await this.connection.db.query(
      `SELECT id, user_id AS "userId", actor, type, body FROM received_activities WHERE id = $1 AND user_id = $2`,
      [id, userId],
    );
    return rows[0] as ReceivedActivity | undefined;
  }

  receive(
    { id, userId, actor, type, body }: ReceivedActivity,
    events: readonly NewEvent[],
  ): Promise<'received' | 'known' | 'blocked'> {
    return this.connection.transaction(async (tx) => {
      await shareRelation(tx, userId, actor);
      if (await isBlocked(tx, userId, actor)) return 'blocked';
      const { rowCount } = await tx.query(
        `INSERT INTO received_activities (id, user_id, actor, type, body) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING`,
        [id, userId, actor, type, JSON.stringify(body)],
      );
      if (rowCount !== 1) return 'known';
      await write(tx, events);
      return 'received';
    });
  }

  async forgetDeletedReview(uri: string): Promise<void> {
    await this.connection.db.query(
      `UPDATE received_activities a
          SET body = jsonb_build_object('id', a.id, 'type', a.type, 'actor', a.actor)
         FROM remote_reviews r
        WHERE r.uri = $1 AND r.deleted AND a.actor = r.actor AND a.type IN ('Create', 'Update')
          AND a.body -> 'object' ->> 'id' = r.uri AND a.body #> '{object,version}' <= to_jsonb(r.version)`,
      [uri],
    );
  }
}
