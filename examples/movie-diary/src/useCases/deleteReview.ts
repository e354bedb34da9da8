import { Refusal } from '../domain/refusal';
import { MovieDeleted } from '../events/films';
import { ReviewDeleted } from '../events/reviews';
import type { Films } from '../ports/films';
import type { Reviews } from '../ports/reviews';

/** With the last review of a film goes the film, unless a watchlist or a watch event still refers to it. @throws Refusal */
export async function deleteReview(
  { reviews, films }: { readonly reviews: Reviews; readonly films: Films },
  command: { readonly reviewId: string; readonly userId: string },
): Promise<void> {
  const { reviewId, userId } = command;
  const review = await reviews.find(reviewId);
  if (review?.userId !== userId) throw new Refusal('not found', `This user has no review ${reviewId}`);
  const { filmId } = review;
  const film = await films.find(filmId);
  if (!film) throw conflict(reviewId);
  const version = review.version + 1;
  const deleted = ReviewDeleted.event({ aggregateId: reviewId, payload: { reviewId, userId, filmId, version } });
  const orphaned = MovieDeleted.event({ aggregateId: filmId, payload: { filmId, number: film.number } });
  const removed = await reviews.remove({ ...review, version }, { deleted: [deleted], filmOrphaned: [orphaned] });
  if (!removed) throw conflict(reviewId);
}

function conflict(reviewId: string): Refusal {
  return new Refusal('conflict', `The review ${reviewId} was changed at the same time; read it and try again`);
}
