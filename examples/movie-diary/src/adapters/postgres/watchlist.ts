import type { NewEvent } from 'temporal-outbox/producer';
import type { Film } from '../../domain/film';
import type { WatchlistEntry } from '../../domain/watchlist';
import type { Watchlist } from '../../ports/watchlist';
import { write, type Connection } from './connection';
import { storeFilm } from './films';

export class PostgresWatchlist implements Watchlist {
  constructor(private readonly connection: Connection) {}

  async find(userId: string, filmId: string): Promise<WatchlistEntry | undefined> {
    // Only the film of an entry that was removed can be gone; then its number and title are asked for by nobody.
    const { rows } = await this.connection.db.query(
      `SELECT w.listed, w.version, coalesce(f.number, 0) AS number, coalesce(f.title, '') AS title
         FROM watchlist_entries w LEFT JOIN films f ON f.id = w.film_id
        WHERE w.user_id = $1 AND w.film_id = $2`,
      [userId, filmId],
    );
    const row = rows[0] as { listed: boolean; version: number; number: number; title: string } | undefined;
    if (!row) return undefined;
    const { listed, version, number, title } = row;
    return { film: { id: filmId, number, title }, listed, version };
  }

  async ofUser(userId: string): Promise<Film[]> {
    const { rows } = await this.connection.db.query(
      `SELECT f.id, f.number, f.title FROM watchlist_entries w JOIN films f ON f.id = w.film_id
        WHERE w.user_id = $1 AND w.listed ORDER BY f.title, f.id`,
      [userId],
    );
    return rows as Film[];
  }

  add(
    userId: string,
    film: Film,
    version: number,
    events: { readonly added: (film: Film) => readonly NewEvent[]; readonly filmDiscovered: readonly NewEvent[] },
  ): Promise<Film | undefined> {
    return this.connection.transaction(async (tx) => {
      // Before the film: whoever comes too late must not discover one.
      const { rowCount } = await tx.query(
        `INSERT INTO watchlist_entries AS old (user_id, film_id, listed, version) VALUES ($1, $2, true, $3)
         ON CONFLICT (user_id, film_id) DO UPDATE SET listed = true, version = excluded.version
           WHERE NOT old.listed AND old.version = excluded.version - 1`,
        [userId, film.id, version],
      );
      if (rowCount !== 1) return undefined;
      const stored = await storeFilm(tx, film, events.filmDiscovered);
      await write(tx, events.added(stored.film));
      return stored.film;
    });
  }

  remove(userId: string, filmId: string, version: number, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `UPDATE watchlist_entries SET listed = false, version = $3
          WHERE user_id = $1 AND film_id = $2 AND listed AND version = $3 - 1`,
        [userId, filmId, version],
      );
      if (rowCount !== 1) return false;
      await write(tx, events);
      return true;
    });
  }
}
