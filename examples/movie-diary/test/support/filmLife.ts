import { filmOf } from '../../src/domain/film';
import { originalKey, posterPrefix, thumbnailKey } from '../../src/domain/poster';
import { MovieDeleted, MovieDiscovered, MovieEnrichmentRequested } from '../../src/events/films';
import { ImageStored, PosterRequested } from '../../src/events/posters';
import type { HandlerDeps } from '../../src/handlers/createHandlers';
import type { TestDiary } from './diary';
import { handled, runHandler } from './runHandler';

export interface PosterRow {
  readonly sourceUrl: string;
  readonly sha256: string | null;
  readonly unreadableBecause: string | null;
}

/** A film that comes and goes, and the handlers of what happens to it, each run by hand. No worker may run beside it. */
export class FilmLife {
  readonly id: string;
  readonly original: string;
  readonly thumbnail: string;

  constructor(
    readonly diary: TestDiary,
    readonly number: number,
  ) {
    this.id = filmOf(number, 'a film').id;
    this.original = originalKey(this.id);
    this.thumbnail = thumbnailKey(this.id);
  }

  private get payload() {
    return { filmId: this.id, number: this.number };
  }

  async discover(): Promise<void> {
    const event = MovieDiscovered.event({ aggregateId: this.id, payload: { ...this.payload, title: 'a film' } });
    await this.diary.repositories.films.discover(filmOf(this.number, 'a film'), [event]);
  }

  /** As the adapters do it: both or neither. */
  async remove(): Promise<void> {
    const { films } = this.diary.repositories;
    await films.requestEnrichment(this.id, []);
    await this.diary.pool.query('DELETE FROM films WHERE id = $1', [this.id]);
  }

  enrich(deps: Partial<HandlerDeps> = {}): Promise<void> {
    return this.run('film-enrichment', handled(MovieDiscovered, { ...this.payload, title: 'a film' }), deps);
  }

  enrichAgain(deps: Partial<HandlerDeps> = {}): Promise<void> {
    return this.run('film-enrichment', handled(MovieEnrichmentRequested, this.payload), deps);
  }

  sync(deps: Partial<HandlerDeps> = {}): Promise<void> {
    return this.run('poster-sync', handled(PosterRequested, { filmId: this.id, url: 'http://looked-up' }), deps);
  }

  convert(deps: Partial<HandlerDeps> = {}): Promise<void> {
    const payload = { filmId: this.id, key: this.original, sha256: '0'.repeat(64) };
    return this.run('image-conversion', handled(ImageStored, payload), deps);
  }

  cleanUp(deps: Partial<HandlerDeps> = {}): Promise<void> {
    return this.run('image-cleanup', handled(MovieDeleted, this.payload), deps);
  }

  /** All the way from its discovery to the copy of its poster. */
  async settle(): Promise<void> {
    await this.discover();
    await this.enrich();
    await this.sync();
    await this.convert();
  }

  private run(name: string, event: ReturnType<typeof handled>, deps: Partial<HandlerDeps>): Promise<void> {
    return runHandler(this.diary.handlers(deps), name, event, this.diary.pool);
  }

  /** How many of each type have been written about it, but for its discoveries. */
  async events(): Promise<Record<string, number>> {
    const { rows } = await this.diary.outbox.db.query<{ type: string; count: number }>(
      `SELECT event_type AS type, count(*)::integer AS count FROM :schema.event_queue
        WHERE aggregate_id = $1 AND event_type <> 'MovieDiscovered' GROUP BY event_type ORDER BY event_type`,
      [this.id],
    );
    return Object.fromEntries(rows.map(({ type, count }) => [type, count]));
  }

  objects(): Promise<string[]> {
    return this.diary.objects.list(posterPrefix(this.id));
  }

  async row(): Promise<PosterRow | undefined> {
    const { rows } = await this.diary.pool.query<PosterRow>(
      `SELECT source_url AS "sourceUrl", sha256, unreadable_because AS "unreadableBecause" FROM posters WHERE film_id = $1`,
      [this.id],
    );
    return rows[0];
  }

  /** What is left of it: nothing of a film that is gone and cleaned up. */
  async remains(): Promise<{ objects: string[]; row: PosterRow | undefined }> {
    return { objects: await this.objects(), row: await this.row() };
  }
}

export const NOTHING = { objects: [], row: undefined };
