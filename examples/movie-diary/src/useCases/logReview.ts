import { filmOf } from '../domain/film';
import { Refusal } from '../domain/refusal';
import type { Review, ReviewContent } from '../domain/review';
import { MovieDiscovered } from '../events/films';
import { ReviewLogged } from '../events/reviews';
import type { Reviews } from '../ports/reviews';

export interface LogReview extends ReviewContent {
  /** The caller's own, so that a repeated request is the same review. */
  readonly reviewId: string;
  readonly userId: string;
  readonly film: { readonly number: number; readonly title: string };
}

/**
 * @returns whether it is new; a repeated request finds it there
 * @throws Refusal `gone` for the id of a review that was deleted, `conflict` for one of another user or film
 */
export async function logReview(reviews: Reviews, command: LogReview): Promise<{ review: Review; isNew: boolean }> {
  const film = filmOf(command.film.number, command.film.title);
  const { reviewId, userId, rating, comment, watchedOn } = command;
  const review: Review = { id: reviewId, userId, filmId: film.id, rating, comment, watchedOn, version: 1 };
  const logged = ReviewLogged.event({
    aggregateId: reviewId,
    payload: { reviewId, userId, filmId: film.id, version: 1, rating, comment, watchedOn },
  });
  const discovered = MovieDiscovered.event({
    aggregateId: film.id,
    payload: { filmId: film.id, number: film.number, title: film.title },
  });
  const outcome = await reviews.add(review, film, { logged: [logged], filmDiscovered: [discovered] });
  if (outcome === 'deleted') throw new Refusal('gone', `The review ${reviewId} was deleted; log it under a new id`);
  if (outcome === 'added') return { review, isNew: true };
  const known = await reviews.find(reviewId);
  if (known?.userId !== userId || known.filmId !== film.id)
    throw new Refusal('conflict', `The id ${reviewId} belongs to another review; log it under a new id`);
  return { review: known, isNew: false };
}
