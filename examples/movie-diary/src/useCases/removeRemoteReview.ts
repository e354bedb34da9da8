import { isOfInstance } from '../domain/instance';
import { RemoteReviewRemoved } from '../events/federation';
import type { RemoteReview, RemoteReviews } from '../ports/remoteReviews';

/**
 * Remembers the deletion in any case, so that a copy which arrives later stays out.
 *
 * @returns false when no review was removed: there was none yet, it is another actor's, or this came twice
 */
export async function removeRemoteReview(
  remoteReviews: RemoteReviews,
  { uri, actor, version }: Pick<RemoteReview, 'uri' | 'actor' | 'version'>,
): Promise<boolean> {
  if (!isOfInstance(uri, actor)) return false;
  const event = RemoteReviewRemoved.event({ aggregateId: uri, payload: { reviewUri: uri, version } });
  return remoteReviews.remove({ uri, actor, version }, [event]);
}
