import type { NewEvent, Queryable } from 'temporal-outbox/producer';
import type { DiaryImport } from '../../domain/diaryImport';
import type { Film } from '../../domain/film';
import type { Review } from '../../domain/review';
import type { DiaryImports } from '../../ports/diaryImports';
import { write, type Connection } from './connection';
import { storeFilm } from './films';

export class PostgresDiaryImports implements DiaryImports {
  constructor(private readonly connection: Connection) {}

  async find(id: string): Promise<DiaryImport | undefined> {
    const { rows } = await this.connection.db.query(
      `SELECT id, user_id AS "userId", sha256, imported, refused FROM diary_imports WHERE id = $1`,
      [id],
    );
    return rows[0] as DiaryImport | undefined;
  }

  async add(
    diaryImport: DiaryImport,
    reviews: readonly Review[],
    films: readonly { readonly film: Film; readonly discovered: NewEvent }[],
    events: readonly NewEvent[],
  ): Promise<'added' | 'known' | 'taken'> {
    // Two imports that lock the same films in different orders would wait for each other for ever.
    const inOneOrder = [...films].sort((a, b) => (a.film.id < b.film.id ? -1 : 1));
    const add = async (tx: Queryable) => {
      if (!(await insertImport(tx, diaryImport))) return 'known';
      for (const { film, discovered } of inOneOrder) await storeFilm(tx, film, [discovered]);
      if (!(await insertReviews(tx, reviews)) || (await anyDeleted(tx, reviews))) throw new Taken();
      await write(tx, events);
      return 'added';
    };
    try {
      return await this.connection.transaction(add);
    } catch (error) {
      if (error instanceof Taken) return 'taken';
      throw error;
    }
  }
}

/** Rolls back. */
class Taken extends Error {}

/** The first statement: a second request with the same id waits here for the first. */
async function insertImport(tx: Queryable, { id, userId, sha256, imported, refused }: DiaryImport): Promise<boolean> {
  const { rowCount } = await tx.query(
    `INSERT INTO diary_imports (id, user_id, sha256, imported, refused) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (id) DO NOTHING`,
    [id, userId, sha256, imported, JSON.stringify(refused)],
  );
  return rowCount === 1;
}

/** @returns false when there is, or just comes in, a review of one of the ids */
async function insertReviews(tx: Queryable, reviews: readonly Review[]): Promise<boolean> {
  const { rowCount } = await tx.query(
    `INSERT INTO reviews (id, user_id, film_id, rating, comment, watched_on, version)
     SELECT id, "userId", "filmId", rating, comment, "watchedOn", version FROM jsonb_to_recordset($1) AS
       r (id uuid, "userId" uuid, "filmId" uuid, rating integer, comment text, "watchedOn" date, version integer)
     ON CONFLICT (id) DO NOTHING`,
    [JSON.stringify(reviews)],
  );
  return rowCount === reviews.length;
}

/**
 * Behind the insertion, which has waited for whoever was about to delete one of them: so many reviews are not locked one
 * by one, for a table of locks has only so much room.
 */
async function anyDeleted(tx: Queryable, reviews: readonly Review[]): Promise<boolean> {
  const { rows } = await tx.query('SELECT FROM deleted_reviews WHERE id = ANY ($1::uuid[])', [
    reviews.map(({ id }) => id),
  ]);
  return rows.length > 0;
}
