import type { Pool } from 'pg';
import { defineHandler } from 'temporal-outbox';
import { MovieDiscovered } from './movieDiscovered';

/** Made before the worker starts: events of an interrupted run may wait for it. */
export async function createSearchIndex(pool: Pool): Promise<void> {
  await pool.query(`
    CREATE TABLE IF NOT EXISTS movie_search (
      number   integer  PRIMARY KEY,
      title    text,
      document tsvector NOT NULL,
      -- Of the event that wrote the row last, and how often that event did: a second effect would show here.
      event_id uuid     NOT NULL,
      times    integer  NOT NULL
    )`);
  await pool.query(`CREATE INDEX IF NOT EXISTS movie_search_document ON movie_search USING gin (document)`);
}

const UPSERT = `
  INSERT INTO movie_search AS old (number, title, document, event_id, times)
  VALUES ($1, $2, setweight(to_tsvector('english', coalesce($2, '')), 'A') || setweight(to_tsvector('simple', $3), 'B'),
          $4, 1)
  ON CONFLICT (number) DO UPDATE
    SET title = excluded.title, document = excluded.document, event_id = excluded.event_id,
        times = CASE WHEN old.event_id = excluded.event_id THEN old.times + 1 ELSE 1 END`;

/** Keeps the full-text index. Transactional: row and ledger entry commit together, so each event writes once. */
export const searchIndex = defineHandler({
  name: 'search-index',
  events: [MovieDiscovered],
  transactional: true,
  run: async ({ eventId, payload: { number, title, record } }, { tx }) => {
    const alsoFoundBy = [record.Director, record.Distributor, record['Major Genre']].join(' ');
    await tx.query(UPSERT, [number, title, alsoFoundBy, eventId]);
  },
});

export interface Indexed {
  /** Rows that these events wrote. */
  readonly indexed: number;
  /** Rows that one event wrote more than once. */
  readonly indexedTwice: number;
}

export async function countIndexed(pool: Pool, eventIds: ReadonlySet<string>): Promise<Indexed> {
  const { rows } = await pool.query<Indexed>(
    `SELECT count(*)::integer AS indexed, (count(*) FILTER (WHERE times > 1))::integer AS "indexedTwice"
       FROM movie_search WHERE event_id = ANY ($1::uuid[])`,
    [[...eventIds]],
  );
  return rows[0] ?? { indexed: 0, indexedTwice: 0 };
}

/** Titles that match, the best first. */
export async function search(pool: Pool, words: string, limit: number): Promise<string[]> {
  const { rows } = await pool.query<{ title: string }>(
    `SELECT title FROM movie_search, websearch_to_tsquery('english', $1) AS query
      WHERE document @@ query ORDER BY ts_rank(document, query) DESC, number LIMIT $2`,
    [words, limit],
  );
  return rows.map(({ title }) => title);
}
