import { Refusal } from '../domain/refusal';
import type { RemoteReviews } from '../ports/remoteReviews';
import type { Reviews } from '../ports/reviews';

export interface KnownReviews {
  readonly reviews: Reviews;
  readonly remoteReviews: RemoteReviews;
  /** Of this instance. */
  readonly origin: string;
}

/** One reacts to what one has seen: a review of this instance, or one that came in from another. @throws Refusal */
export async function mustKnowReview(
  { reviews, remoteReviews, origin }: KnownReviews,
  reviewUri: string,
): Promise<void> {
  const own = `${origin}/reviews/`;
  const id = reviewUri.startsWith(own) ? reviewUri.slice(own.length) : undefined;
  const known = id === undefined ? await remoteReviews.find(reviewUri) : isUuid(id) && (await reviews.find(id));
  if (!known) throw new Refusal('not found', 'There is no such review here');
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}
