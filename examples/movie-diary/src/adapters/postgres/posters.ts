import type { NewEvent, Queryable } from 'temporal-outbox/producer';
import { originalKey } from '../../domain/poster';
import type { LockedPoster, Posters } from '../../ports/posters';
import { write, type Connection } from './connection';

type PosterRow = Pick<LockedPoster, 'sourceUrl' | 'objectKey' | 'sha256'>;

export class PostgresPosters implements Posters {
  constructor(private readonly connection: Connection) {}

  whileLocked(filmId: string, work: (poster: LockedPoster | undefined) => Promise<void>): Promise<void> {
    return this.connection.transaction(async (tx) => {
      const row = await lockPoster(tx, filmId);
      await work(row && locked(tx, filmId, row, await isThere(tx, filmId)));
    });
  }
}

/**
 * Whoever locks film and poster locks the poster first: it may be held for as long as a download takes, and a locked
 * film keeps its reviewers waiting.
 */
export async function lockPoster(tx: Queryable, filmId: string): Promise<PosterRow | undefined> {
  const { rows } = await tx.query(
    `SELECT source_url AS "sourceUrl", object_key AS "objectKey", sha256 FROM posters WHERE film_id = $1 FOR UPDATE`,
    [filmId],
  );
  return rows[0] as PosterRow | undefined;
}

/**
 * The film's profile names this poster. It is to be fetched when it is another than before, and when the film is new: a
 * row that is left from before the film was deleted says nothing, as its clean-up may have removed the objects and died.
 *
 * @returns whether it is to be fetched
 */
export async function intendPoster(tx: Queryable, filmId: string, url: string, isNew: boolean): Promise<boolean> {
  // The update waits for whoever holds the row. Nothing at all in its place would take a row for an intent that a
  // clean-up is about to remove.
  const { rowCount } = await tx.query(
    `INSERT INTO posters AS old (film_id, source_url, object_key) VALUES ($1, $2, $3)
     ON CONFLICT (film_id) DO UPDATE
       SET source_url = excluded.source_url, sha256 = NULL, stored_at = NULL, unreadable_because = NULL
       WHERE $4 OR old.source_url IS DISTINCT FROM excluded.source_url`,
    [filmId, url, originalKey(filmId), isNew],
  );
  return rowCount === 1;
}

/** The film's profile names none. The row stays, and says so, until the objects are removed. Needs the poster's lock */
export async function withdrawPoster(tx: Queryable, filmId: string): Promise<void> {
  await tx.query(
    `UPDATE posters SET source_url = NULL, sha256 = NULL, stored_at = NULL, unreadable_because = NULL
      WHERE film_id = $1`,
    [filmId],
  );
}

/** A statement of its own: one that waits for a lock would still see the films of before. */
async function isThere(tx: Queryable, filmId: string): Promise<boolean> {
  return (await tx.query('SELECT FROM films WHERE id = $1', [filmId])).rows.length > 0;
}

function locked(tx: Queryable, filmId: string, row: PosterRow, filmIsThere: boolean): LockedPoster {
  return {
    ...row,
    filmIsThere,
    stillLocked: async () => {
      await tx.query('SELECT FROM posters WHERE film_id = $1', [filmId]);
    },
    stored: async (sha256: string, events: readonly NewEvent[]) => {
      await tx.query(
        `UPDATE posters SET sha256 = $2, stored_at = clock_timestamp(), unreadable_because = NULL WHERE film_id = $1`,
        [filmId, sha256],
      );
      await write(tx, events);
    },
    unreadable: async (reason) => {
      await tx.query(`UPDATE posters SET unreadable_because = $2 WHERE film_id = $1`, [filmId, reason]);
    },
    forget: async () => {
      await tx.query('DELETE FROM posters WHERE film_id = $1', [filmId]);
    },
  };
}
