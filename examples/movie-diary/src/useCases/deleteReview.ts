import { Refusal } from '../domain/refusal';
import { MovieDeleted } from '../events/films';
import { ReviewDeleted } from '../events/reviews';
import type { Films } from '../ports/films';
import type { Reviews } from '../ports/reviews';

/**
 * With the last review of a film goes the film, unless a watchlist or a watch event still refers to it. What the user has
 * deleted already is left alone, without an event: the request is a repeat of one whose answer was lost. @throws Refusal
 */
export async function deleteReview(
  { reviews, films }: { readonly reviews: Reviews; readonly films: Films },
  { reviewId, userId }: { readonly reviewId: string; readonly userId: string },
): Promise<void> {
  const isDeleted = async () => (await reviews.deletion(reviewId))?.userId === userId;
  const review = await reviews.find(reviewId);
  if (review?.userId !== userId) {
    if (!review && (await isDeleted())) return;
    throw new Refusal('not found', `This user has no review ${reviewId}`);
  }
  const { filmId } = review;
  const film = await films.find(filmId);
  const version = review.version + 1;
  const deleted = ReviewDeleted.event({ aggregateId: reviewId, payload: { reviewId, userId, filmId, version } });
  const orphaned = film && MovieDeleted.event({ aggregateId: filmId, payload: { filmId, number: film.number } });
  const removed =
    orphaned && (await reviews.remove({ ...review, version }, { deleted: [deleted], filmOrphaned: [orphaned] }));
  if (!removed && !(await isDeleted()))
    throw new Refusal('conflict', `The review ${reviewId} was changed at the same time; read it and try again`);
}
