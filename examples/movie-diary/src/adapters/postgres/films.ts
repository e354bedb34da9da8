import type { NewEvent, Queryable } from 'temporal-outbox/producer';
import type { Film, FilmProfile } from '../../domain/film';
import type { Films, FilmWithProfile } from '../../ports/films';
import { write, type Connection } from './connection';
import { intendPoster, lockPoster, withdrawPoster } from './posters';

interface FilmRow extends Film {
  releasedOn: string | null;
  genre: string | null;
  distributor: string | null;
  directorId: string | null;
  director: string | null;
  posterUrl: string | null;
  enrichedAt: string | null;
  hasPoster: boolean;
}

export class PostgresFilms implements Films {
  constructor(private readonly connection: Connection) {}

  async find(id: string): Promise<FilmWithProfile | undefined> {
    const { rows } = await this.connection.db.query(
      `SELECT f.id, f.number, f.title, p.released_on::text AS "releasedOn", p.genre,
              p.distributor, p.director_id AS "directorId", d.name AS director, p.poster_url AS "posterUrl",
              to_char(p.enriched_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "enrichedAt",
              o.stored_at IS NOT NULL AS "hasPoster"
         FROM films f
         LEFT JOIN film_profiles p ON p.film_id = f.id
         LEFT JOIN people d ON d.id = p.director_id
         LEFT JOIN posters o ON o.film_id = f.id
        WHERE f.id = $1`,
      [id],
    );
    const row = rows[0] as FilmRow | undefined;
    if (!row) return undefined;
    const { number, title, enrichedAt, releasedOn, genre, distributor, directorId, posterUrl, hasPoster } = row;
    const director = directorId !== null && row.director !== null ? { id: directorId, name: row.director } : null;
    const facts = { filmId: id, releasedOn, genre, distributor, director, posterUrl };
    const profile = enrichedAt === null ? undefined : { ...facts, enrichedAt };
    return { id, number, title, profile, hasPoster };
  }

  discover(film: Film, events: readonly NewEvent[]): Promise<{ film: Film; isNew: boolean }> {
    return this.connection.transaction((tx) => storeFilm(tx, film, events));
  }

  requestEnrichment(filmId: string, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      if (!(await lockFilm(tx, filmId))) return false;
      await write(tx, events);
      return true;
    });
  }

  saveProfile(
    profile: FilmProfile,
    askedSince: string | undefined,
    events: { readonly enriched: readonly NewEvent[]; readonly posterRequested: readonly NewEvent[] },
  ): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      const { filmId, posterUrl } = profile;
      await lockPoster(tx, filmId);
      if (!(await lockFilm(tx, filmId))) return true;
      if (!(await isLatest(tx, filmId, askedSince))) return false;
      const change = await upsertProfile(tx, profile);
      if (!change) return true;
      await write(tx, events.enriched);
      if (posterUrl === null) await withdrawPoster(tx, filmId);
      else if (await intendPoster(tx, filmId, posterUrl, change === 'new')) await write(tx, events.posterRequested);
      return true;
    });
  }
}

/**
 * @returns the film as it is stored, and whether it is new; then the events are written too. Its row is locked in either
 *   case, so that it cannot be removed as an orphan before what refers to it is there
 */
export async function storeFilm(
  tx: Queryable,
  film: Film,
  discovered: readonly NewEvent[],
): Promise<{ film: Film; isNew: boolean }> {
  const { rows } = await tx.query(
    `INSERT INTO films (id, number, title) VALUES ($1, $2, $3)
     ON CONFLICT (id) DO UPDATE SET title = films.title RETURNING title, (xmax = 0) AS "isNew"`,
    [film.id, film.number, film.title],
  );
  const { title, isNew } = rows[0] as { title: string; isNew: boolean };
  if (isNew) await write(tx, discovered);
  return { film: { ...film, title }, isNew };
}

/** Against its removal until the transaction ends. @returns false when there is no such film */
export async function lockFilm(tx: Queryable, filmId: string): Promise<boolean> {
  const { rows } = await tx.query('SELECT FROM films WHERE id = $1 FOR UPDATE', [filmId]);
  return rows.length > 0;
}

/**
 * Against its removal and a new profile until the transaction ends, but against nothing that only refers to it: whoever
 * keeps several films, in any order, and whoever stores several never wait for each other. @returns as `lockFilm`
 */
export async function keepFilm(tx: Queryable, filmId: string): Promise<boolean> {
  const { rows } = await tx.query('SELECT FROM films WHERE id = $1 FOR KEY SHARE', [filmId]);
  return rows.length > 0;
}

/** @returns whether the film was removed: it is not while anything refers to it. Needs the film's lock */
export async function removeOrphan(tx: Queryable, filmId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `DELETE FROM films
      WHERE id = $1
        AND NOT EXISTS (SELECT FROM reviews WHERE film_id = $1)
        AND NOT EXISTS (SELECT FROM watchlist_entries WHERE film_id = $1 AND listed)
        AND NOT EXISTS (SELECT FROM watch_events WHERE film_id = $1)`,
    [filmId],
  );
  return rowCount === 1;
}

/**
 * Every answer is counted, also one that says the same. Needs the film's lock.
 *
 * @returns whether no other answer has been counted since the profile of that time was read
 */
async function isLatest(tx: Queryable, filmId: string, askedSince: string | undefined): Promise<boolean> {
  if (askedSince === undefined)
    return (await tx.query('SELECT FROM film_profiles WHERE film_id = $1', [filmId])).rows.length === 0;
  const { rowCount } = await tx.query(
    'UPDATE film_profiles SET enriched_at = clock_timestamp() WHERE film_id = $1 AND enriched_at = $2',
    [filmId, askedSince],
  );
  return rowCount === 1;
}

/** @returns undefined when it says the same already */
async function upsertProfile(tx: Queryable, profile: FilmProfile): Promise<'new' | 'changed' | undefined> {
  const { rows } = await tx.query(
    `INSERT INTO film_profiles AS old (film_id, released_on, genre, distributor, director_id, poster_url)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (film_id) DO UPDATE
       SET released_on = excluded.released_on, genre = excluded.genre, distributor = excluded.distributor,
           director_id = excluded.director_id, poster_url = excluded.poster_url
       WHERE (old.released_on, old.genre, old.distributor, old.director_id, old.poster_url) IS DISTINCT FROM
             (excluded.released_on, excluded.genre, excluded.distributor, excluded.director_id, excluded.poster_url)
     RETURNING (xmax = 0) AS new`,
    [
      profile.filmId,
      profile.releasedOn,
      profile.genre,
      profile.distributor,
      profile.director?.id ?? null,
      profile.posterUrl,
    ],
  );
  const row = rows[0] as { new: boolean } | undefined;
  return row && (row.new ? 'new' : 'changed');
}
