import { importedReviewId, type DiaryFile, type DiaryImport, type DiaryRow } from '../domain/diaryImport';
import { filmOf, type Film } from '../domain/film';
import { Refusal } from '../domain/refusal';
import type { Review } from '../domain/review';
import { MovieDiscovered } from '../events/films';
import { DiaryImported } from '../events/integrations';
import { ReviewLogged } from '../events/reviews';
import type { DiaryImports } from '../ports/diaryImports';

/**
 * Each good row becomes a review, all of them with the import and its events in one transaction. The ids are derived from
 * the import's, so a repeated request is the same import. @throws Refusal
 */
export async function importDiary(
  imports: DiaryImports,
  { importId, userId, file }: { readonly importId: string; readonly userId: string; readonly file: DiaryFile },
): Promise<{ diaryImport: DiaryImport; isNew: boolean }> {
  const { sha256, rows, refused } = file;
  const diaryImport = { id: importId, userId, sha256, imported: rows.length, refused };
  const reviews = rows.map((row) => reviewOf(row, importId, userId));
  const imported = DiaryImported.event({
    aggregateId: importId,
    payload: { importId, userId, imported: rows.length, refused: refused.length },
  });
  const outcome = await imports.add(diaryImport, reviews, filmsOf(rows), [...reviews.map(logged), imported]);
  if (outcome === 'added') return { diaryImport, isNew: true };
  const known = outcome === 'known' ? await imports.find(importId) : undefined;
  if (known?.userId !== userId || known.sha256 !== sha256)
    throw new Refusal('conflict', `The id ${importId} belongs to something else; import this file under a new id`);
  return { diaryImport: known, isNew: false };
}

function reviewOf({ line, film, rating, comment, watchedOn }: DiaryRow, importId: string, userId: string): Review {
  const { id: filmId } = filmOf(film.number, film.title);
  return { id: importedReviewId(importId, line), userId, filmId, rating, comment, watchedOn, version: 1 };
}

function logged({ id, ...review }: Review) {
  return ReviewLogged.event({ aggregateId: id, payload: { reviewId: id, ...review } });
}

/** Each film once; of several titles the first. */
function filmsOf(rows: readonly DiaryRow[]) {
  const films = new Map<string, Film>();
  for (const { film } of rows) {
    const { id, number, title } = filmOf(film.number, film.title);
    if (!films.has(id)) films.set(id, { id, number, title });
  }
  return [...films.values()].map((film) => ({
    film,
    discovered: MovieDiscovered.event({
      aggregateId: film.id,
      payload: { filmId: film.id, number: film.number, title: film.title },
    }),
  }));
}
