import type { NewEvent } from 'temporal-outbox/producer';
import type { ReviewOfYear, WrapUp, WrapUpSummary } from '../../domain/wrapUp';
import type { WrapUps } from '../../ports/wrapUps';
import { write, type Connection } from './connection';

export class PostgresWrapUps implements WrapUps {
  constructor(private readonly connection: Connection) {}

  async find(id: string): Promise<WrapUp | undefined> {
    const { rows } = await this.connection.db.query(
      `SELECT id, user_id AS "userId", year, state, summary FROM wrap_ups WHERE id = $1`,
      [id],
    );
    return rows[0] as WrapUp | undefined;
  }

  request({ id, userId, year }: Pick<WrapUp, 'id' | 'userId' | 'year'>, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `INSERT INTO wrap_ups (id, user_id, year, state) VALUES ($1, $2, $3, 'requested') ON CONFLICT DO NOTHING`,
        [id, userId, year],
      );
      if (rowCount !== 1) return false;
      await write(tx, events);
      return true;
    });
  }

  async begin(id: string): Promise<void> {
    await this.connection.db.query(`UPDATE wrap_ups SET state = 'generating' WHERE id = $1 AND state = 'requested'`, [
      id,
    ]);
  }

  async reviewsOf(userId: string, year: number): Promise<ReviewOfYear[]> {
    const { rows } = await this.connection.db.query(
      `SELECT r.film_id AS "filmId", f.title, r.rating, r.watched_on::text AS "watchedOn"
         FROM reviews r JOIN films f ON f.id = r.film_id
        WHERE r.user_id = $1 AND r.watched_on >= make_date($2, 1, 1) AND r.watched_on < make_date($2 + 1, 1, 1)`,
      [userId, year],
    );
    return rows as ReviewOfYear[];
  }

  complete(id: string, summary: WrapUpSummary, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `UPDATE wrap_ups SET state = 'completed', summary = $2, completed_at = clock_timestamp()
          WHERE id = $1 AND state = 'generating'`,
        [id, JSON.stringify(summary)],
      );
      if (rowCount !== 1) return false;
      await write(tx, events);
      return true;
    });
  }
}
