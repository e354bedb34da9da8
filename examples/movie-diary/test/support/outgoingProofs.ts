import { randomUUID } from 'node:crypto';
import type { HandledEvent, Transaction } from 'temporal-outbox';
import { HttpRemoteActors } from '../../src/adapters/http/remoteActors';
import { PostgresStoredActors } from '../../src/adapters/postgres/remoteActors';
import type { Repositories } from '../../src/adapters/postgres/repositories';
import { actorUri, type Activity } from '../../src/domain/activity';
import { filmOf, type Film } from '../../src/domain/film';
import type { Occurrence } from '../../src/domain/occurrence';
import { announce, like } from '../../src/domain/reactionActivities';
import { block, follow } from '../../src/domain/relationActivities';
import { createReview } from '../../src/domain/reviewActivities';
import { addToWatchlist } from '../../src/domain/watchlistActivities';
import * as accounts from '../../src/events/accounts';
import * as follows from '../../src/events/follows';
import * as reactions from '../../src/events/reactions';
import * as reviews from '../../src/events/reviews';
import * as watchlist from '../../src/events/watchlist';
import type { OutgoingEvent } from '../../src/handlers/outgoing/events';
import { outgoingActivity } from '../../src/handlers/outgoingActivity';
import { acceptFollower } from '../../src/useCases/acceptFollower';
import { deleteReview } from '../../src/useCases/deleteReview';
import { logReview } from '../../src/useCases/logReview';
import { saveRemoteReview } from '../../src/useCases/saveRemoteReview';
import { newUser } from './newUser';
import type { Proof } from './proveAtomic';
import { handled } from './runHandler';

const ORIGIN = 'https://here.example';
const THERE = 'https://there.example';
const CONTENT = { rating: 8, comment: 'Fine', watchedOn: '2024-02-01' };

/** A user with a review, whom an actor of another instance follows; the user knows a review of that actor. */
interface World {
  readonly stored: Repositories;
  readonly userId: string;
  readonly actor: string;
  readonly film: Film;
  readonly reviewId: string;
  readonly reviewUri: string;
  readonly first: Occurrence;
  /** Keeps an activity that is to be taken back, as sent to the actor. */
  keep(activity: Activity): Promise<void>;
}

async function world(stored: Repositories, actors: PostgresStoredActors): Promise<World> {
  const { id: userId, name } = await newUser(stored);
  const actor = `${THERE}/users/a${randomUUID().slice(0, 8)}`;
  const inbox = `${actor}/inbox`;
  const known = { uri: actor, inbox, keyId: `${actor}#main-key`, publicKey: 'a key', displayName: 'A', movedTo: null };
  await actors.save(known, 1);
  await acceptFollower(stored.remoteFollowers, { userId, actor, inbox, version: 1 });
  const film = filmOf(4_712, 'The Third Man');
  const [reviewId, reviewUri] = [randomUUID(), `${THERE}/reviews/${randomUUID()}`];
  await logReview(stored.reviews, { reviewId, userId, film, ...CONTENT });
  await saveRemoteReview(stored.remoteReviews, { uri: reviewUri, actor, film, ...CONTENT, version: 1 });
  const first = { origin: ORIGIN, actor: actorUri(ORIGIN, name), version: 1, published: '2024-02-01T10:00:00Z' };
  // Its delivery is done with, so no event of one is left over.
  const keep = async (activity: Activity) => {
    await stored.activities.add(userId, activity, [inbox], () =>
      accounts.UserRegistered.event({ aggregateId: userId, payload: { userId, name } }),
    );
    await stored.activities.settleDelivery(activity.id, inbox, 'delivered');
  };
  return { stored, userId, actor, film, reviewId, reviewUri, first, keep };
}

type Told = (world: World) => HandledEvent | Promise<HandledEvent>;

const review = ({ reviewId, userId, film }: World, version: number) => ({
  ...{ reviewId, userId, filmId: film.id, version },
});
const entry = ({ userId, film: { id: filmId, number, title } }: World, version: number) => ({
  ...{ userId, filmId, number, title, version },
});
const reaction = ({ userId, reviewUri }: World, version: number) => ({ userId, reviewUri, version });
const relation = ({ userId, actor }: World, version: number) => ({ userId, actor, version });

/** What has happened, by the type of its event. */
const TOLD: Readonly<Record<OutgoingEvent['type'], Told>> = {
  ReviewLogged: (here) => handled(reviews.ReviewLogged, { ...review(here, 1), ...CONTENT }),
  ReviewEdited: (here) => handled(reviews.ReviewEdited, { ...review(here, 2), ...CONTENT, rating: 9 }),
  ReviewDeleted: async (here) => {
    await here.keep(createReview(here.first, { ...here, ...CONTENT }));
    await deleteReview(here.stored, here);
    return handled(reviews.ReviewDeleted, review(here, 2));
  },
  WatchlistEntryAdded: (here) => handled(watchlist.WatchlistEntryAdded, entry(here, 1)),
  WatchlistEntryRemoved: async (here) => {
    await here.keep(addToWatchlist(here.first, here.film));
    return handled(watchlist.WatchlistEntryRemoved, entry(here, 2));
  },
  ReviewLiked: (here) => handled(reactions.ReviewLiked, reaction(here, 1)),
  ReviewUnliked: async (here) => {
    await here.keep(like(here.first, here.reviewUri));
    return handled(reactions.ReviewUnliked, reaction(here, 2));
  },
  ReviewAnnounced: (here) => handled(reactions.ReviewAnnounced, reaction(here, 1)),
  ReviewUnannounced: async (here) => {
    await here.keep(announce(here.first, here.reviewUri));
    return handled(reactions.ReviewUnannounced, reaction(here, 2));
  },
  ProfileUpdated: ({ userId }) =>
    handled(accounts.ProfileUpdated, { userId, displayName: 'Another', movedTo: null, version: 2 }),
  AccountMoved: ({ userId }) =>
    handled(accounts.AccountMoved, { userId, target: 'https://elsewhere.example/users/u', version: 2 }),
  RemoteFollowRequested: (here) => handled(follows.RemoteFollowRequested, relation(here, 1)),
  RemoteFollowEnded: async (here) => {
    await here.keep(follow(here.first, here.actor));
    return handled(follows.RemoteFollowEnded, relation(here, 2));
  },
  RemoteFollowerAccepted: (here) => handled(follows.RemoteFollowerAccepted, relation(here, 1)),
  ActorBlocked: (here) => handled(follows.ActorBlocked, relation(here, 1)),
  ActorUnblocked: async (here) => {
    await here.keep(block(here.first, here.actor));
    return handled(follows.ActorUnblocked, relation(here, 2));
  },
};

/** The handler that turns events into activities: each with its deliveries and their events, or nothing at all. */
export const OUTGOING_PROOFS: readonly Proof[] = Object.entries(TOLD).map(([type, told]) => ({
  name: `tell of ${type}`,
  tables: ['activities', 'activity_deliveries'],
  events: ['ActivityDeliveryRequested'],
  joins: true,
  prepare: async (stored, connection) => {
    const event = await told(await world(stored, new PostgresStoredActors(connection)));
    return (_, joined) => {
      const handler = outgoingActivity(ORIGIN, new HttpRemoteActors(new PostgresStoredActors(joined)));
      if (!handler.transactional) throw new Error('The handler is not transactional');
      const { signal } = new AbortController();
      return Promise.resolve(handler.run(event, { tx: joined.db as Transaction, signal, attempt: 1 }));
    };
  },
}));
