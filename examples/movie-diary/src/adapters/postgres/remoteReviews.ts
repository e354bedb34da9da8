import type { NewEvent, Queryable } from 'temporal-outbox/producer';
import type { RemoteReview, RemoteReviews } from '../../ports/remoteReviews';
import { write, type Connection } from './connection';

const COLUMNS = `r.uri, r.actor, json_build_object('number', r.film_number, 'title', r.film_title) AS film, r.rating,
  r.comment, r.watched_on::text AS "watchedOn", r.version`;

export class PostgresRemoteReviews implements RemoteReviews {
  constructor(private readonly connection: Connection) {}

  async find(uri: string): Promise<RemoteReview | undefined> {
    const { rows } = await this.connection.db.query(
      `SELECT ${COLUMNS} FROM remote_reviews r WHERE uri = $1 AND NOT deleted`,
      [uri],
    );
    return rows[0] as RemoteReview | undefined;
  }

  async feedOf(userId: string, limit: number): Promise<RemoteReview[]> {
    const { rows } = await this.connection.db.query(
      `SELECT ${COLUMNS}
         FROM remote_followings f JOIN remote_reviews r ON r.actor = f.actor
        WHERE f.user_id = $1 AND f.state = 'accepted' AND NOT r.deleted
          AND NOT EXISTS (SELECT FROM blocks b WHERE b.user_id = f.user_id AND b.actor = f.actor AND b.active)
        ORDER BY r.watched_on DESC, r.uri LIMIT $2`,
      [userId, limit],
    );
    return rows as RemoteReview[];
  }

  save(review: RemoteReview, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      if (!(await upsert(tx, review))) return false;
      await write(tx, events);
      return true;
    });
  }

  remove(review: Pick<RemoteReview, 'uri' | 'actor' | 'version'>, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      if (!(await entomb(tx, review))) return false;
      await write(tx, events);
      return true;
    });
  }
}

/** A review never changes its actor: another one of the same instance must not take it over. */
async function upsert(tx: Queryable, review: RemoteReview): Promise<boolean> {
  const { uri, actor, film, rating, comment, watchedOn, version } = review;
  const { rowCount } = await tx.query(
    `INSERT INTO remote_reviews AS old (uri, actor, film_number, film_title, rating, comment, watched_on, version)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (uri) DO UPDATE
       SET film_number = excluded.film_number, film_title = excluded.film_title, rating = excluded.rating,
           comment = excluded.comment, watched_on = excluded.watched_on, version = excluded.version, deleted = false
       WHERE old.actor = excluded.actor AND old.version < excluded.version`,
    [uri, actor, film.number, film.title, rating, comment, watchedOn, version],
  );
  return rowCount === 1;
}

/** @returns whether a review was removed */
async function entomb(tx: Queryable, { uri, actor, version }: Pick<RemoteReview, 'uri' | 'actor' | 'version'>) {
  const { rowCount } = await tx.query(
    `INSERT INTO remote_reviews (uri, actor, version, deleted) VALUES ($1, $2, $3, true) ON CONFLICT DO NOTHING`,
    [uri, actor, version],
  );
  if (rowCount === 1) return false;
  const { rows } = await tx.query(
    `SELECT deleted FROM remote_reviews WHERE uri = $1 AND actor = $2 AND version < $3 FOR UPDATE`,
    [uri, actor, version],
  );
  const before = rows[0] as { deleted: boolean } | undefined;
  if (!before) return false;
  await tx.query(
    `UPDATE remote_reviews
        SET deleted = true, version = $2, film_number = NULL, film_title = NULL, rating = NULL, comment = NULL, watched_on = NULL
      WHERE uri = $1`,
    [uri, version],
  );
  return !before.deleted;
}
