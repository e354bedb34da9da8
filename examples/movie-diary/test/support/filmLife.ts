import { randomUUID } from 'node:crypto';
import { filmOf } from '../../src/domain/film';
import { originalKey, posterPrefix, thumbnailKey } from '../../src/domain/poster';
import { MovieDeleted, MovieDiscovered, MovieEnriched, MovieEnrichmentRequested } from '../../src/events/films';
import { ImageStored, PosterRequested } from '../../src/events/posters';
import type { HandlerDeps } from '../../src/handlers/createHandlers';
import { deleteReview } from '../../src/useCases/deleteReview';
import { logReview } from '../../src/useCases/logReview';
import { registerUser } from '../../src/useCases/registerUser';
import type { TestDiary } from './diary';
import { handled, runHandler } from './runHandler';

export interface PosterRow {
  /** Null when the provider has none any more. */
  readonly sourceUrl: string | null;
  readonly sha256: string | null;
  readonly unreadableBecause: string | null;
}

/** A film that comes and goes, and the handlers of what happens to it, each run by hand. No worker may run beside it. */
export class FilmLife {
  readonly id: string;
  readonly original: string;
  readonly thumbnail: string;
  private review = { reviewId: '', userId: '' };

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

  /** By the one review that there is of it. */
  async discover(): Promise<void> {
    const { reviews, users } = this.diary.repositories;
    const name = `film${this.number}`;
    const { user } = await registerUser(users, { name, displayName: name });
    this.review = { reviewId: randomUUID(), userId: user.id };
    const film = { number: this.number, title: 'a film' };
    await logReview(reviews, { ...this.review, film, rating: 7, comment: null, watchedOn: '2024-02-01' });
  }

  /** With its review. */
  async remove(): Promise<void> {
    await deleteReview(this.diary.repositories, this.review);
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

  /** The event of a profile that names no poster. */
  withdraw(deps: Partial<HandlerDeps> = {}): Promise<void> {
    const payload = { filmId: this.id, directorId: null, posterUrl: null };
    return this.run('image-cleanup', handled(MovieEnriched, payload), deps);
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

  /** How many of each type have been written about it, but for its comings and goings. */
  async events(): Promise<Record<string, number>> {
    const { rows } = await this.diary.outbox.db.query<{ type: string; count: number }>(
      `SELECT event_type AS type, count(*)::integer AS count FROM :schema.event_queue
        WHERE aggregate_id = $1 AND event_type NOT IN ('MovieDiscovered', 'MovieDeleted') GROUP BY event_type ORDER BY event_type`,
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
