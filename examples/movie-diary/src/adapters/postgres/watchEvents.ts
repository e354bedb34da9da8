import type { NewEvent } from 'temporal-outbox/producer';
import type { Film } from '../../domain/film';
import type { WatchEvent } from '../../domain/watchEvent';
import type { WatchEvents } from '../../ports/watchEvents';
import { write, type Connection } from './connection';
import { storeFilm } from './films';

export class PostgresWatchEvents implements WatchEvents {
  constructor(private readonly connection: Connection) {}

  async find(id: string): Promise<WatchEvent | undefined> {
    const { rows } = await this.connection.db.query(
      `SELECT id, user_id AS "userId", source, external_id AS "externalId", film_id AS "filmId", watched_at AS "watchedAt"
         FROM watch_events WHERE id = $1`,
      [id],
    );
    const row = rows[0] as (Omit<WatchEvent, 'watchedAt'> & { watchedAt: Date }) | undefined;
    return row && { ...row, watchedAt: row.watchedAt.toISOString() };
  }

  add(
    watchEvent: WatchEvent,
    film: Film,
    events: { readonly received: readonly NewEvent[]; readonly filmDiscovered: readonly NewEvent[] },
  ): Promise<boolean> {
    const { id, userId, source, externalId, filmId, watchedAt } = watchEvent;
    return this.connection.transaction(async (tx) => {
      // A repeat that names another film must not discover that one, so the look comes first, and one at a time.
      await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('watch event ' || $1, 0))`, [id]);
      if ((await tx.query('SELECT FROM watch_events WHERE id = $1', [id])).rows.length > 0) return false;
      await storeFilm(tx, film, events.filmDiscovered);
      await tx.query(
        `INSERT INTO watch_events (id, user_id, source, external_id, film_id, watched_at)
         VALUES ($1, $2, $3, $4, $5, $6)`,
        [id, userId, source, externalId, filmId, watchedAt],
      );
      await write(tx, events.received);
      return true;
    });
  }
}
