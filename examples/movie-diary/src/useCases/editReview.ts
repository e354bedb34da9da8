import { Refusal } from '../domain/refusal';
import { edited, type Review, type ReviewEdit } from '../domain/review';
import { ReviewEdited } from '../events/reviews';
import type { Reviews } from '../ports/reviews';

/** An edit that changes nothing writes nothing, so a repeated request is one edit. @throws Refusal */
export async function editReview(
  reviews: Reviews,
  command: { readonly reviewId: string; readonly userId: string; readonly edit: ReviewEdit },
): Promise<Review> {
  const before = await reviews.find(command.reviewId);
  if (before?.userId !== command.userId) throw new Refusal('not found', `This user has no review ${command.reviewId}`);
  const review = edited(before, command.edit);
  if (!review) return before;
  const { id, userId, filmId, version, rating, comment, watchedOn } = review;
  const event = ReviewEdited.event({
    aggregateId: id,
    payload: { reviewId: id, userId, filmId, version, rating, comment, watchedOn },
  });
  if (!(await reviews.change(review, [event])))
    throw new Refusal('conflict', `The review ${id} was changed at the same time; read it and try again`);
  return review;
}
