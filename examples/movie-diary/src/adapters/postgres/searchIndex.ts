import type { Film, Person } from '../../domain/film';
import type { Found, SearchIndex } from '../../ports/search';
import type { Connection } from './connection';
import { keepFilm } from './films';

/**
 * Of what is entered and of what is looked for: words of the one are found by words of the other only when both were made
 * by the same rules. By these every word counts as it is, as befits names: another configuration takes "Her" and "It" for
 * words that say nothing, and cuts the end of "James".
 */
const WORDS = 'simple';

export class PostgresSearchIndex implements SearchIndex {
  constructor(private readonly connection: Connection) {}

  putFilm({ id }: Pick<Film, 'id'>): Promise<void> {
    return this.connection.transaction(async (tx) => {
      // Else the film could go between the look at it and the entry, which nothing would remove any more.
      if (!(await keepFilm(tx, id))) return;
      await tx.query(
        `INSERT INTO search_documents (kind, id, title, document)
         SELECT 'film', f.id, f.title,
                setweight(to_tsvector('${WORDS}', f.title), 'A') ||
                setweight(to_tsvector('${WORDS}', concat_ws(' ', d.name, p.genre, p.distributor)), 'B')
           FROM films f LEFT JOIN film_profiles p ON p.film_id = f.id LEFT JOIN people d ON d.id = p.director_id
          WHERE f.id = $1
         ON CONFLICT (kind, id) DO UPDATE SET title = excluded.title, document = excluded.document`,
        [id],
      );
    });
  }

  async putPerson({ id }: Pick<Person, 'id'>): Promise<void> {
    await this.connection.db.query(
      `INSERT INTO search_documents (kind, id, title, document)
       SELECT 'person', id, name, to_tsvector('${WORDS}', name) FROM people WHERE id = $1
       ON CONFLICT (kind, id) DO UPDATE SET title = excluded.title, document = excluded.document`,
      [id],
    );
  }

  removeFilm({ id }: Pick<Film, 'id'>): Promise<void> {
    return this.connection.transaction(async (tx) => {
      // The entry first, then the look at the film: in one statement, a film that comes back meanwhile would lose the
      // entry that it has just been given.
      await tx.query(`SELECT FROM search_documents WHERE kind = 'film' AND id = $1 FOR UPDATE`, [id]);
      await tx.query(
        `DELETE FROM search_documents
          WHERE kind = 'film' AND id = $1 AND NOT EXISTS (SELECT FROM films WHERE id = $1)`,
        [id],
      );
    });
  }

  async find(words: string, limit: number): Promise<Found[]> {
    const { rows } = await this.connection.db.query(
      `SELECT kind, id, title FROM search_documents, websearch_to_tsquery('${WORDS}', $1) AS query
        WHERE document @@ query ORDER BY ts_rank(document, query) DESC, id LIMIT $2`,
      [words, limit],
    );
    return rows as Found[];
  }
}
