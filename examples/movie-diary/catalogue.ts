import type { Pool, PoolClient } from 'pg';
import { enqueueEvents } from 'temporal-outbox/producer';
import { MovieDiscovered, type Film } from './movieDiscovered';

export async function createCatalogue(pool: Pool): Promise<void> {
  await pool.query(`
    CREATE TABLE IF NOT EXISTS movies (
      number       integer PRIMARY KEY,
      title        text,
      release_date date,
      record       jsonb       NOT NULL,
      stored_at    timestamptz NOT NULL DEFAULT clock_timestamp()
    )`);
}

export async function countFilms(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('SELECT count(*)::integer AS count FROM movies');
  return rows[0]?.count ?? 0;
}

/** Thrown to roll a transaction back after everything in it has succeeded. */
class RollBack extends Error {}

/**
 * Stores films and enqueues a `MovieDiscovered` for each, in one transaction: both are there, or neither is.
 *
 * @param rollBack roll back at the end, as a crash or a failed check would
 * @returns the ids of the events
 */
export async function storeFilms(pool: Pool, films: readonly Film[], rollBack: boolean): Promise<string[]> {
  const client = await pool.connect();
  // A connection lost between two statements says so by an event, which would end the process if nobody listened.
  let lost: Error | undefined;
  const onLost = (error: Error) => (lost = error);
  client.on('error', onLost);
  let eventIds: string[] = [];
  try {
    await client.query('BEGIN');
    for (const film of films) await storeFilm(client, film);
    eventIds = await enqueueEvents(
      client,
      films.map((film) => MovieDiscovered.event({ aggregateId: `movie-${film.number}`, payload: film })),
    );
    if (rollBack) throw new RollBack();
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(onLost);
    if (!(error instanceof RollBack)) throw error;
  } finally {
    client.off('error', onLost);
    client.release(lost);
  }
  return eventIds;
}

async function storeFilm(client: PoolClient, film: Film): Promise<void> {
  await client.query(
    `INSERT INTO movies (number, title, release_date, record) VALUES ($1, $2, $3, $4)
     ON CONFLICT (number) DO UPDATE SET title = excluded.title, release_date = excluded.release_date,
                                        record = excluded.record, stored_at = clock_timestamp()`,
    [film.number, film.title, film.releaseDate, JSON.stringify(film.record)],
  );
}
