import type { NewEvent, Queryable } from 'temporal-outbox/producer';
import type { Film } from '../../domain/film';
import type { Review } from '../../domain/review';
import type { Reviews } from '../../ports/reviews';
import { write, type Connection } from './connection';
import { lockFilm, removeOrphan, storeFilm } from './films';

const COLUMNS = `id, user_id AS "userId", film_id AS "filmId", rating, comment, watched_on::text AS "watchedOn", version`;

export class PostgresReviews implements Reviews {
  constructor(private readonly connection: Connection) {}

  async find(id: string): Promise<Review | undefined> {
    const { rows } = await this.connection.db.query(`SELECT ${COLUMNS} FROM reviews WHERE id = $1`, [id]);
    return rows[0] as Review | undefined;
  }

  async deletion(id: string): Promise<Pick<Review, 'userId' | 'version'> | undefined> {
    const { rows } = await this.connection.db.query(
      'SELECT user_id AS "userId", version FROM deleted_reviews WHERE id = $1',
      [id],
    );
    return rows[0] as Pick<Review, 'userId' | 'version'> | undefined;
  }

  async ofUser(userId: string): Promise<Review[]> {
    const { rows } = await this.connection.db.query(
      `SELECT ${COLUMNS} FROM reviews WHERE user_id = $1 ORDER BY watched_on DESC, id`,
      [userId],
    );
    return rows as Review[];
  }

  add(
    review: Review,
    film: Film,
    events: { readonly logged: readonly NewEvent[]; readonly filmDiscovered: readonly NewEvent[] },
  ): Promise<'added' | 'known' | 'deleted'> {
    return this.connection.transaction(async (tx) => {
      await lockReview(tx, review.id);
      if (await isDeleted(tx, review.id)) return 'deleted';
      // Its film may be gone by now, and must not come back for a repeated request.
      if (await isKnown(tx, review.id)) return 'known';
      await storeFilm(tx, film, events.filmDiscovered);
      await insert(tx, review);
      await write(tx, events.logged);
      return 'added';
    });
  }

  change(review: Review, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      if (!(await update(tx, review))) return false;
      await write(tx, events);
      return true;
    });
  }

  remove(
    review: Review,
    events: { readonly deleted: readonly NewEvent[]; readonly filmOrphaned: readonly NewEvent[] },
  ): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      await lockReview(tx, review.id);
      // Two last reviews of a film that are deleted at once must see each other, or each leaves the film to the other.
      await lockFilm(tx, review.filmId);
      if (!(await remove(tx, review))) return false;
      await write(tx, events.deleted);
      if (await removeOrphan(tx, review.filmId)) await write(tx, events.filmOrphaned);
      return true;
    });
  }
}

/** A review that is not there yet has no row to lock. */
async function lockReview(tx: Queryable, id: string): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('review ' || $1, 0))`, [id]);
}

async function isDeleted(tx: Queryable, id: string): Promise<boolean> {
  return (await tx.query('SELECT FROM deleted_reviews WHERE id = $1', [id])).rows.length > 0;
}

async function isKnown(tx: Queryable, id: string): Promise<boolean> {
  return (await tx.query('SELECT FROM reviews WHERE id = $1', [id])).rows.length > 0;
}

async function insert(tx: Queryable, review: Review): Promise<void> {
  await tx.query(
    `INSERT INTO reviews (id, user_id, film_id, rating, comment, watched_on, version)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [review.id, review.userId, review.filmId, review.rating, review.comment, review.watchedOn, review.version],
  );
}

async function update(tx: Queryable, review: Review): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE reviews SET rating = $2, comment = $3, watched_on = $4, version = $5 WHERE id = $1 AND version = $5 - 1`,
    [review.id, review.rating, review.comment, review.watchedOn, review.version],
  );
  return rowCount === 1;
}

async function remove(tx: Queryable, { id, version }: Review): Promise<boolean> {
  const { rowCount } = await tx.query(
    `WITH gone AS (DELETE FROM reviews WHERE id = $1 AND version = $2 - 1 RETURNING id, user_id)
     INSERT INTO deleted_reviews (id, user_id, version) SELECT id, user_id, $2 FROM gone`,
    [id, version],
  );
  return rowCount === 1;
}
