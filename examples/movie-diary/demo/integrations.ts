import { v5 } from 'uuid';
import { importedReviewId } from '../src/domain/diaryImport';
import { filmOf, NAMESPACE } from '../src/domain/film';
import type { Step } from './client';
import type { KeptReview, RatedFilm } from './diary';

const IMPORTER = 'hana';
const VIEWER = 'gus';
const MEDIA_SERVER = 'jellyfin';

/** One of the rows names a day that no calendar has: it is refused, and the others are imported. */
const BAD_ROW = '2024-02-30,Nowhere,1,5,';

/** A diary that was kept elsewhere, as one file. */
export function importOf(films: readonly RatedFilm[]): { step: Step; reviews: KeptReview[] } {
  const importId = v5(`import of ${IMPORTER}`, NAMESPACE);
  const rows = films.map((film, index) => ({
    film,
    rating: Math.max(1, Math.round(film.imdb.rating)),
    watchedOn: `2024-03-${String((index % 28) + 1).padStart(2, '0')}`,
  }));
  const lines = rows.map(
    ({ film, rating, watchedOn }) => `${watchedOn},"${film.title.replaceAll('"', '""')}",${film.number},${rating},`,
  );
  const body = ['Date,Name,Number,Rating,Comment', ...lines, BAD_ROW, ''].join('\n');
  const reviews = rows.map(({ film, rating, watchedOn }, index) => ({
    // After the header, and from 1.
    id: importedReviewId(importId, index + 2),
    user: IMPORTER,
    final: { filmId: filmOf(film.number, film.title).id, rating, comment: null, watchedOn },
  }));
  return { step: { instance: 'first', method: 'POST', path: `/users/${IMPORTER}/imports/${importId}`, body }, reviews };
}

/** What a media server reports, each twice: they do. */
export function watchEventsOf(films: readonly RatedFilm[]): { steps: Step[]; filmIds: string[] } {
  const steps = films.flatMap(({ number, title }, index) => {
    const watchedAt = new Date(Date.UTC(2024, 4, 1, 20, index)).toISOString();
    const body = { eventId: `play-${number}`, film: { number, title }, watchedAt };
    const step = {
      instance: 'first',
      method: 'POST',
      path: `/users/${VIEWER}/webhooks/${MEDIA_SERVER}`,
      body,
    } as const;
    return [step, step];
  });
  return { steps, filmIds: films.map(({ number, title }) => filmOf(number, title).id) };
}
