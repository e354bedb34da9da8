import { actorUri, type Activity } from '../../domain/activity';
import { actorOf, move, updateActor } from '../../domain/actor';
import type { Occurrence } from '../../domain/occurrence';
import { announce, like } from '../../domain/reactionActivities';
import { accept, block, follow } from '../../domain/relationActivities';
import {
  createReview,
  deleteReview,
  idsOfReview,
  tombstone,
  updateReview,
  type Tombstone,
} from '../../domain/reviewActivities';
import { undo } from '../../domain/undo';
import { addToWatchlist } from '../../domain/watchlistActivities';
import type { Activities } from '../../ports/activities';
import type { Films } from '../../ports/films';
import type { RemoteReviews } from '../../ports/remoteReviews';
import type { Reviews } from '../../ports/reviews';
import type { Users } from '../../ports/users';
import type { OutgoingEvent } from './events';

export interface Stored {
  readonly activities: Activities;
  readonly films: Films;
  readonly remoteReviews: RemoteReviews;
  readonly reviews: Reviews;
  readonly users: Users;
}

export interface Outgoing {
  readonly activity: Activity;
  readonly toFollowers?: boolean;
  /** By URI, of other instances. */
  readonly toActors?: readonly string[];
  /** Ids of earlier activities: whoever was told of something is told of its end, follower or not. */
  readonly toReceiversOf?: readonly string[];
  /** Earlier activities, by id, whose content is deleted, and what is left of it. */
  readonly withdraws?: { readonly ids: readonly string[]; readonly tombstone: Tombstone };
}

/** @returns undefined when nothing is to be told, because what happened is over */
export async function activityOfEvent(
  event: OutgoingEvent,
  origin: string,
  stored: Stored,
): Promise<Outgoing | undefined> {
  const { payload } = event;
  const user = await stored.users.byId(payload.userId);
  if (!user) throw new Error(`There is no user ${payload.userId}`);
  const actor = actorUri(origin, user.name);
  const occurrence: Occurrence = { origin, actor, version: payload.version, published: event.occurredAt };
  // What is taken back was there in the version before.
  const before = { ...occurrence, version: payload.version - 1 };
  switch (event.type) {
    case 'ReviewLogged':
    case 'ReviewEdited':
      return written(event, occurrence, stored);
    case 'ReviewDeleted': {
      const { reviewId, version } = event.payload;
      const ids = idsOfReview(origin, reviewId, version);
      const withdraws = { ids, tombstone: tombstone(occurrence, reviewId) };
      return { activity: deleteReview(occurrence, reviewId), toFollowers: true, toReceiversOf: ids, withdraws };
    }
    case 'WatchlistEntryAdded':
      return { activity: addToWatchlist(occurrence, event.payload), toFollowers: true };
    case 'WatchlistEntryRemoved':
      return { ...(await undone(occurrence, addToWatchlist(before, event.payload), stored)), toFollowers: true };
    case 'ReviewLiked': {
      const { reviewUri } = event.payload;
      return { activity: like(occurrence, reviewUri), toActors: await authorOf(reviewUri, stored) };
    }
    case 'ReviewUnliked':
      return undone(occurrence, like(before, event.payload.reviewUri), stored);
    case 'ReviewAnnounced': {
      const { reviewUri } = event.payload;
      const toActors = await authorOf(reviewUri, stored);
      return { activity: announce(occurrence, reviewUri), toFollowers: true, toActors };
    }
    case 'ReviewUnannounced':
      return { ...(await undone(occurrence, announce(before, event.payload.reviewUri), stored)), toFollowers: true };
    case 'ProfileUpdated': {
      const { displayName, movedTo, version } = event.payload;
      const object = actorOf(origin, { ...user, displayName, movedTo, version });
      return { activity: updateActor(occurrence, object), toFollowers: true };
    }
    case 'AccountMoved':
      return { activity: move(occurrence, event.payload.target), toFollowers: true };
    case 'RemoteFollowRequested':
      return { activity: follow(occurrence, event.payload.actor), toActors: [event.payload.actor] };
    case 'RemoteFollowEnded':
      return undone(occurrence, follow(before, event.payload.actor), stored);
    case 'RemoteFollowerAccepted':
      return { activity: accept(occurrence, event.payload.actor), toActors: [event.payload.actor] };
    case 'ActorBlocked':
      return { activity: block(occurrence, event.payload.actor), toActors: [event.payload.actor] };
    case 'ActorUnblocked':
      return undone(occurrence, block(before, event.payload.actor), stored);
  }
}

/**
 * Of a review that is gone by now nothing is told but its end, which has an event of its own. One that goes from here on
 * may have its end told before this is kept, and then not to everybody who is asked to be told here; its delivery looks
 * again, and is withheld.
 */
async function written(
  event: Extract<OutgoingEvent, { type: 'ReviewLogged' | 'ReviewEdited' }>,
  occurrence: Occurrence,
  { films, reviews }: Stored,
): Promise<Outgoing | undefined> {
  const { reviewId, filmId, rating, comment, watchedOn } = event.payload;
  const film = (await reviews.find(reviewId)) && (await films.find(filmId));
  if (!film) return undefined;
  const build = event.type === 'ReviewLogged' ? createReview : updateReview;
  return { activity: build(occurrence, { reviewId, film, rating, comment, watchedOn }), toFollowers: true };
}

/**
 * @param original only its id is used: when it was published is known to its event alone, so it is read as it was kept
 * @throws Error while it is not, because its own event failed and waits: no Undo goes out ahead of what it takes back
 */
async function undone(occurrence: Occurrence, { id, type }: Activity, { activities }: Stored): Promise<Outgoing> {
  const original = await activities.find(id);
  if (!original) throw new Error(`The ${type} that is taken back has not been kept yet, so its Undo waits: ${id}`);
  return { activity: undo(occurrence, original), toReceiversOf: [id] };
}

/** An author of this instance, or of a review that was deleted, has nobody to be told. */
async function authorOf(reviewUri: string, { remoteReviews }: Stored): Promise<string[]> {
  const review = await remoteReviews.find(reviewUri);
  return review ? [review.actor] : [];
}
