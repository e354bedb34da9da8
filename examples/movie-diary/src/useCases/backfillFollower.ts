import { activityId, actorUri, reviewUri } from '../domain/activity';
import { createReview } from '../domain/reviewActivities';
import type { User } from '../domain/user';
import { ActivityDeliveryRequested } from '../events/federation';
import type { Activities } from '../ports/activities';
import type { Films } from '../ports/films';
import type { RemoteFollowers } from '../ports/remoteFollows';
import type { Reviews } from '../ports/reviews';

interface Deps {
  readonly activities: Activities;
  readonly films: Films;
  readonly remoteFollowers: RemoteFollowers;
  readonly reviews: Reviews;
  /** Of this instance. */
  readonly origin: string;
}

interface Backfill {
  readonly user: User;
  /** The follower. */
  readonly actor: string;
  /** The event that asks for it, and when that was. */
  readonly causationId: string;
  readonly published: string;
}

/**
 * Every review that the user has now goes to a new follower as well, unless this version of it did already. Whoever has
 * left again is sent nothing.
 *
 * Nothing is locked, since it may take minutes: neither the follower's requests nor the user's wait for it. A review that
 * is deleted meanwhile is withheld when its delivery comes, and so is everything from a follower who is blocked by then.
 *
 * @param signal ends it between two reviews
 */
export async function backfillFollower(
  deps: Deps,
  { user, actor, causationId, published }: Backfill,
  signal: AbortSignal,
): Promise<void> {
  const { activities, films, remoteFollowers, reviews, origin } = deps;
  const follower = await remoteFollowers.find(user.id, actor);
  if (!follower?.active) return;
  const { inbox } = follower;
  for (const review of await reviews.ofUser(user.id)) {
    signal.throwIfAborted();
    const film = await films.find(review.filmId);
    // Deleted since, together with the review.
    if (!film) continue;
    const { id: reviewId, rating, comment, watchedOn, version } = review;
    const occurrence = { origin, actor: actorUri(origin, user.name), version, published };
    const activity = createReview(occurrence, { reviewId, film, rating, comment, watchedOn });
    // Who follows anew, or was told while following already, has this version.
    const told = [activity.id, activityId(origin, 'Update', reviewUri(origin, reviewId), version)];
    if ((await activities.inboxesOf(told)).includes(inbox)) continue;
    const requested = ActivityDeliveryRequested.event({
      aggregateId: inbox,
      payload: { activityId: activity.id, inbox },
      causationId,
    });
    await activities.add(user.id, activity, [inbox], () => requested);
  }
}
