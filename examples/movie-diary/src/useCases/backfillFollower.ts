import { activityId, actorUri, reviewUri, type Activity } from '../domain/activity';
import { actorOf, updateActor } from '../domain/actor';
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
 * Every review that the user has now goes to a new follower as well, and the profile if it was ever changed: the
 * follower's instance may have looked at it before the change, and nobody told it of that. What was told in this version
 * already is not told again. Whoever has left again is sent nothing.
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
  const self = actorUri(origin, user.name);
  /** @param others ids of activities that say the same */
  const tell = async (activity: Activity, others: readonly string[]) => {
    if ((await activities.inboxesOf([activity.id, ...others])).includes(inbox)) return;
    const payload = { activityId: activity.id, inbox };
    const requested = ActivityDeliveryRequested.event({ aggregateId: inbox, payload, causationId });
    await activities.add(user.id, activity, [inbox], () => requested);
  };
  if (user.version > 1) {
    const occurrence = { origin, actor: self, version: user.version, published };
    await tell(updateActor(occurrence, actorOf(origin, user)), [activityId(origin, 'Move', self, user.version)]);
  }
  for (const review of await reviews.ofUser(user.id)) {
    signal.throwIfAborted();
    const film = await films.find(review.filmId);
    // Deleted since, together with the review.
    if (!film) continue;
    const { id: reviewId, rating, comment, watchedOn, version } = review;
    const occurrence = { origin, actor: self, version, published };
    const activity = createReview(occurrence, { reviewId, film, rating, comment, watchedOn });
    await tell(activity, [activityId(origin, 'Update', reviewUri(origin, reviewId), version)]);
  }
}
