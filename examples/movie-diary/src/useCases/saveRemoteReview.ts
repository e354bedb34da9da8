import { isOfInstance } from '../domain/instance';
import { RemoteReviewSaved } from '../events/federation';
import type { RemoteReview, RemoteReviews } from '../ports/remoteReviews';

/** @returns false when it came late or twice, or is not its actor's own */
export async function saveRemoteReview(remoteReviews: RemoteReviews, review: RemoteReview): Promise<boolean> {
  const { uri, actor, version } = review;
  if (!isOfInstance(uri, actor)) return false;
  const event = RemoteReviewSaved.event({ aggregateId: uri, payload: { reviewUri: uri, version } });
  return remoteReviews.save(review, [event]);
}
