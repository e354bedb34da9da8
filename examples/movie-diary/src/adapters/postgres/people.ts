import type { NewEvent } from 'temporal-outbox/producer';
import type { Person } from '../../domain/film';
import type { People, PersonProfile } from '../../ports/films';
import { write, type Connection } from './connection';

export class PostgresPeople implements People {
  constructor(private readonly connection: Connection) {}

  async find(id: string): Promise<(Person & { profile: PersonProfile | undefined }) | undefined> {
    const { rows } = await this.connection.db.query(
      `SELECT p.name, i.films FROM people p LEFT JOIN person_profiles i ON i.person_id = p.id WHERE p.id = $1`,
      [id],
    );
    const row = rows[0] as { name: string; films: number | null } | undefined;
    if (!row) return undefined;
    return { id, name: row.name, profile: row.films === null ? undefined : { personId: id, films: row.films } };
  }

  discover(person: Person, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      const { rowCount } = await tx.query('INSERT INTO people (id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
        person.id,
        person.name,
      ]);
      if (rowCount !== 1) return false;
      await write(tx, events);
      return true;
    });
  }

  requestEnrichment(personId: string, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      if ((await tx.query('SELECT FROM people WHERE id = $1 FOR UPDATE', [personId])).rows.length === 0) return false;
      await write(tx, events);
      return true;
    });
  }

  saveProfile({ personId, films }: PersonProfile, events: readonly NewEvent[]): Promise<void> {
    return this.connection.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `INSERT INTO person_profiles AS old (person_id, films) SELECT id, $2 FROM people WHERE id = $1
         ON CONFLICT (person_id) DO UPDATE SET films = excluded.films, enriched_at = clock_timestamp()
           WHERE old.films <> excluded.films`,
        [personId, films],
      );
      if (rowCount === 1) await write(tx, events);
    });
  }
}
