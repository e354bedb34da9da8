import type { NewEvent } from 'temporal-outbox/producer';
import type { Activity } from '../../domain/activity';
import type { Tombstone } from '../../domain/reviewActivities';
import type { Activities, DeliveryState } from '../../ports/activities';
import { write, type Connection } from './connection';

/**
 * A delivery's lock is held while its inbox answers. Longer than that, its holder hangs or is frozen: PostgreSQL ends
 * that transaction, and nobody waits for it for ever.
 */
const LOCK_LIMITS = `SELECT set_config('lock_timeout', '15s', true),
                            set_config('idle_in_transaction_session_timeout', '20s', true)`;

export class PostgresActivities implements Activities {
  constructor(private readonly connection: Connection) {}

  async find(id: string): Promise<Activity | undefined> {
    const { rows } = await this.connection.db.query('SELECT body FROM activities WHERE id = $1', [id]);
    return (rows[0] as { body: Activity } | undefined)?.body;
  }

  add(
    userId: string,
    activity: Activity,
    inboxes: readonly string[],
    requested: (inbox: string) => NewEvent,
  ): Promise<void> {
    return this.connection.transaction(async (tx) => {
      // A rival with the same activity is waited for here, so the deliveries below are there, or are ours.
      await tx.query(
        `INSERT INTO activities (id, user_id, type, body) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
        [activity.id, userId, activity.type, activity],
      );
      const { rows } = await tx.query(
        `INSERT INTO activity_deliveries (activity_id, inbox)
         SELECT $1, inbox FROM unnest($2::text[]) AS inbox ORDER BY inbox
         ON CONFLICT DO NOTHING RETURNING inbox`,
        [activity.id, inboxes],
      );
      await write(
        tx,
        (rows as { inbox: string }[]).map(({ inbox }) => requested(inbox)),
      );
    });
  }

  async withdraw(ids: readonly string[], tombstone: Tombstone): Promise<void> {
    await this.connection.db.query(
      `UPDATE activities SET body = jsonb_set(body, '{object}', $2) WHERE id = ANY ($1) AND body -> 'object' <> $2`,
      [ids, tombstone],
    );
  }

  async lockDelivery(id: string, inbox: string): Promise<{ state: DeliveryState; userId: string } | undefined> {
    const { db } = this.connection;
    await db.query(LOCK_LIMITS, []);
    const { rows } = await db.query(
      `SELECT d.state, a.user_id AS "userId"
         FROM activity_deliveries d JOIN activities a ON a.id = d.activity_id
        WHERE d.activity_id = $1 AND d.inbox = $2
          FOR UPDATE OF d`,
      [id, inbox],
    );
    return rows[0] as { state: DeliveryState; userId: string } | undefined;
  }

  async settleDelivery(id: string, inbox: string, state: 'delivered' | 'refused'): Promise<void> {
    await this.connection.db.query(
      `UPDATE activity_deliveries SET state = $3, settled_at = clock_timestamp() WHERE activity_id = $1 AND inbox = $2`,
      [id, inbox, state],
    );
  }

  async inboxesOf(ids: readonly string[]): Promise<string[]> {
    const { rows } = await this.connection.db.query(
      'SELECT DISTINCT inbox FROM activity_deliveries WHERE activity_id = ANY ($1)',
      [ids],
    );
    return (rows as { inbox: string }[]).map(({ inbox }) => inbox);
  }

  async isBlocked(userId: string, inbox: string): Promise<boolean> {
    const { rows } = await this.connection.db.query(
      `SELECT FROM blocks b
        WHERE b.user_id = $1 AND b.active
          AND (EXISTS (SELECT FROM remote_actors a WHERE a.uri = b.actor AND a.inbox = $2)
            OR EXISTS (SELECT FROM remote_followers f WHERE f.user_id = $1 AND f.actor = b.actor AND f.inbox = $2))`,
      [userId, inbox],
    );
    return rows.length > 0;
  }
}
