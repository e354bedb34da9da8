import { randomUUID } from 'node:crypto';
import { PostgresStoredActors } from '../../src/adapters/postgres/remoteActors';
import type { Repositories } from '../../src/adapters/postgres/repositories';
import type { Meaning } from '../../src/domain/meaning';
import { acceptFollower } from '../../src/useCases/acceptFollower';
import { applyActivity } from '../../src/useCases/applyActivity';
import { backfillFollower } from '../../src/useCases/backfillFollower';
import { blockActor } from '../../src/useCases/blockActor';
import { followAccepted } from '../../src/useCases/followAccepted';
import { followActor } from '../../src/useCases/followActor';
import { followerLeft } from '../../src/useCases/followerLeft';
import { followUser } from '../../src/useCases/followUser';
import { logReview } from '../../src/useCases/logReview';
import { announceReview, likeReview, unannounceReview, unlikeReview } from '../../src/useCases/reactToReview';
import { receiveActivity } from '../../src/useCases/receiveActivity';
import { removeFollower } from '../../src/useCases/removeFollower';
import { removeRemoteReview } from '../../src/useCases/removeRemoteReview';
import { saveRemoteReview } from '../../src/useCases/saveRemoteReview';
import { unblockActor } from '../../src/useCases/unblockActor';
import { unfollowActor } from '../../src/useCases/unfollowActor';
import { unfollowUser } from '../../src/useCases/unfollowUser';
import { newUser } from './newUser';
import type { Proof } from './proveAtomic';

const ORIGIN = 'https://here.example';
const THERE = 'https://there.example';

/** A user and an actor of another instance. */
async function strangers(stored: Repositories) {
  const { id: userId, name } = await newUser(stored);
  const actor = `${THERE}/users/a${randomUUID().slice(0, 8)}`;
  return { userId, name, actor, inbox: `${actor}/inbox` };
}

async function follower(stored: Repositories) {
  const two = await strangers(stored);
  await acceptFollower(stored.remoteFollowers, { ...two, version: 1 });
  return two;
}

async function following(stored: Repositories) {
  const two = await strangers(stored);
  await followActor({ ...stored, origin: ORIGIN }, two);
  return two;
}

async function blocked(stored: Repositories) {
  const two = await strangers(stored);
  await blockActor(stored.blocks, two);
  return two;
}

async function remoteReview(stored: Repositories) {
  const { userId, actor } = await strangers(stored);
  const uri = `${THERE}/reviews/${randomUUID()}`;
  const film = { number: 7, title: 'The Third Man' };
  const review = { uri, actor, film, rating: 9, comment: null, watchedOn: '2024-02-01', version: 1 };
  return { userId, actor, review, reviewUri: uri };
}

async function savedReview(stored: Repositories) {
  const arrived = await remoteReview(stored);
  await saveRemoteReview(stored.remoteReviews, arrived.review);
  return arrived;
}

/** What an activity of another instance changes, of every kind of meaning that has a change of its own. */
const APPLIED: readonly (Omit<Proof, 'prepare' | 'joins'> & { readonly meaning: (self: string) => Meaning })[] = [
  {
    name: 'an actor follows a user',
    tables: ['remote_followers'],
    events: ['RemoteFollowerAccepted'],
    meaning: (target) => ({ kind: 'followed', target, version: 1 }),
  },
  {
    name: 'a follower takes its Follow back',
    tables: ['remote_followers'],
    events: ['RemoteFollowerRemoved'],
    meaning: (target) => ({ kind: 'unfollowed', target, version: 2 }),
  },
  {
    name: 'an actor accepts the follow of a user',
    tables: ['remote_followings'],
    events: ['RemoteFollowAccepted'],
    meaning: (self) => ({ kind: 'accepted', follower: self, version: 1 }),
  },
  {
    name: 'an actor has another name',
    tables: ['remote_actors'],
    events: [],
    // The time of it is written anew.
    again: 'writes anew',
    meaning: () => ({ kind: 'profile changed', displayName: 'Another', movedTo: null, version: 2 }),
  },
  {
    name: 'an actor moves',
    tables: ['remote_actors'],
    events: [],
    meaning: () => ({ kind: 'moved', target: 'https://elsewhere.example/users/a', version: 2 }),
  },
  {
    name: 'an actor likes a review',
    tables: ['remote_reactions'],
    events: [],
    meaning: () => ({
      kind: 'reaction',
      reaction: { kind: 'like', object: `${ORIGIN}/reviews/${randomUUID()}` },
      active: true,
      version: 1,
    }),
  },
  {
    name: 'an actor blocks a user who follows it',
    tables: ['remote_followings', 'remote_reactions'],
    events: ['RemoteFollowEnded'],
    meaning: (object) => ({ kind: 'reaction', reaction: { kind: 'block', object }, active: true, version: 1 }),
  },
];

/** Keyed by the file of the use case. */
export const FEDERATION_PROOFS: Readonly<Record<string, readonly Proof[]>> = {
  followUser: [
    {
      name: 'follow a user',
      tables: ['local_follows'],
      events: ['UserFollowed'],
      prepare: async (stored) => {
        const two = { follower: await newUser(stored), followee: await newUser(stored) };
        return ({ localFollows }) => followUser(localFollows, two);
      },
    },
  ],
  unfollowUser: [
    {
      name: 'unfollow a user',
      tables: ['local_follows'],
      events: ['UserUnfollowed'],
      prepare: async (stored) => {
        const two = { follower: await newUser(stored), followee: await newUser(stored) };
        await followUser(stored.localFollows, two);
        return ({ localFollows }) => unfollowUser(localFollows, two);
      },
    },
  ],
  followActor: [
    {
      name: 'ask to follow an actor',
      tables: ['remote_followings'],
      events: ['RemoteFollowRequested'],
      prepare: async (stored) => {
        const two = await strangers(stored);
        return (over) => followActor({ ...over, origin: ORIGIN }, two);
      },
    },
    {
      name: 'ask again to follow an actor, after an end',
      tables: ['remote_followings'],
      events: ['RemoteFollowRequested'],
      prepare: async (stored) => {
        const two = await following(stored);
        await unfollowActor(stored.remoteFollowings, two);
        return (over) => followActor({ ...over, origin: ORIGIN }, two);
      },
    },
  ],
  unfollowActor: [
    {
      name: 'unfollow an actor',
      tables: ['remote_followings'],
      events: ['RemoteFollowEnded'],
      prepare: async (stored) => {
        const two = await following(stored);
        return ({ remoteFollowings }) => unfollowActor(remoteFollowings, two);
      },
    },
  ],
  followAccepted: [
    {
      name: 'a follow is accepted',
      tables: ['remote_followings'],
      events: ['RemoteFollowAccepted'],
      prepare: async (stored) => {
        const two = await following(stored);
        return ({ remoteFollowings }) => followAccepted(remoteFollowings, { ...two, version: 1 });
      },
    },
  ],
  acceptFollower: [
    {
      name: 'accept a follower',
      tables: ['remote_followers'],
      events: ['RemoteFollowerAccepted'],
      prepare: async (stored) => {
        const two = await strangers(stored);
        return ({ remoteFollowers }) => acceptFollower(remoteFollowers, { ...two, version: 1 });
      },
    },
    {
      name: 'a follower who is blocked is kept as ended',
      tables: ['remote_followers'],
      events: [],
      prepare: async (stored) => {
        const two = await blocked(stored);
        return ({ remoteFollowers }) => acceptFollower(remoteFollowers, { ...two, version: 1 });
      },
    },
  ],
  followerLeft: [
    {
      name: 'a follower leaves',
      tables: ['remote_followers'],
      events: ['RemoteFollowerRemoved'],
      prepare: async (stored) => {
        const two = await follower(stored);
        return ({ remoteFollowers }) => followerLeft(remoteFollowers, { ...two, version: 2 });
      },
    },
  ],
  removeFollower: [
    {
      name: 'remove a follower',
      tables: ['remote_followers'],
      events: ['RemoteFollowerRemoved'],
      prepare: async (stored) => {
        const two = await follower(stored);
        return ({ remoteFollowers }) => removeFollower(remoteFollowers, two);
      },
    },
  ],
  blockActor: [
    {
      name: 'block a stranger',
      tables: ['blocks'],
      events: ['ActorBlocked'],
      prepare: async (stored) => {
        const two = await strangers(stored);
        return ({ blocks }) => blockActor(blocks, two);
      },
    },
    {
      name: 'block a follower who is followed, too',
      tables: ['blocks', 'remote_followers', 'remote_followings'],
      events: ['ActorBlocked', 'RemoteFollowEnded', 'RemoteFollowerRemoved'],
      prepare: async (stored) => {
        const two = await follower(stored);
        await followActor({ ...stored, origin: ORIGIN }, two);
        return ({ blocks }) => blockActor(blocks, two);
      },
    },
  ],
  unblockActor: [
    {
      name: 'end a block',
      tables: ['blocks'],
      events: ['ActorUnblocked'],
      prepare: async (stored) => {
        const two = await blocked(stored);
        return ({ blocks }) => unblockActor(blocks, two);
      },
    },
  ],
  reactToReview: [
    {
      name: 'like a review',
      tables: ['reactions'],
      events: ['ReviewLiked'],
      prepare: async (stored) => {
        const arrived = await savedReview(stored);
        return (over) => likeReview({ ...over, origin: ORIGIN }, arrived);
      },
    },
    {
      name: 'take a like back',
      tables: ['reactions'],
      events: ['ReviewUnliked'],
      prepare: async (stored) => {
        const arrived = await savedReview(stored);
        await likeReview({ ...stored, origin: ORIGIN }, arrived);
        return ({ reactions }) => unlikeReview(reactions, arrived);
      },
    },
    {
      name: 'announce a review',
      tables: ['reactions'],
      events: ['ReviewAnnounced'],
      prepare: async (stored) => {
        const arrived = await savedReview(stored);
        return (over) => announceReview({ ...over, origin: ORIGIN }, arrived);
      },
    },
    {
      name: 'take an announcement back',
      tables: ['reactions'],
      events: ['ReviewUnannounced'],
      prepare: async (stored) => {
        const arrived = await savedReview(stored);
        await announceReview({ ...stored, origin: ORIGIN }, arrived);
        return ({ reactions }) => unannounceReview(reactions, arrived);
      },
    },
  ],
  receiveActivity: [
    {
      name: 'receive an activity',
      tables: ['received_activities'],
      events: ['RemoteActivityReceived'],
      prepare: async (stored) => {
        const { userId, name, actor: sender } = await strangers(stored);
        const id = `${THERE}/activities/${randomUUID()}`;
        const activity = { id, type: 'Follow', actor: sender, object: `${ORIGIN}/users/${name}`, version: 1 };
        return ({ inbox }) => receiveActivity(inbox, { userId, sender, activity });
      },
    },
  ],
  saveRemoteReview: [
    {
      name: 'save a remote review',
      tables: ['remote_reviews'],
      events: ['RemoteReviewSaved'],
      joins: true,
      prepare: async (stored) => {
        const { review } = await remoteReview(stored);
        return ({ remoteReviews }) => saveRemoteReview(remoteReviews, review);
      },
    },
  ],
  removeRemoteReview: [
    {
      name: 'remove a remote review',
      tables: ['remote_reviews'],
      events: ['RemoteReviewRemoved'],
      joins: true,
      prepare: async (stored) => {
        const { review } = await savedReview(stored);
        return ({ remoteReviews }) => removeRemoteReview(remoteReviews, { ...review, version: 2 });
      },
    },
  ],
  applyActivity: APPLIED.map(({ meaning, ...expected }) => ({
    ...expected,
    joins: true,
    prepare: async (stored, connection) => {
      const two = await (expected.name.startsWith('a follower') ? follower(stored) : following(stored));
      const { userId, actor, inbox, name } = two;
      const known = { uri: actor, inbox, keyId: `${actor}#main-key`, publicKey: 'a key' };
      await new PostgresStoredActors(connection).save({ ...known, displayName: 'At first', movedTo: null }, 1);
      const user = { ...(await newUser(stored)), id: userId, name };
      const means = meaning(`${ORIGIN}/users/${name}`);
      return (over, own) =>
        applyActivity(
          { ...over, actors: new PostgresStoredActors(own), origin: ORIGIN },
          { user, actor, meaning: means },
        );
    },
  })),
  backfillFollower: [
    {
      name: 'send the reviews so far to a new follower',
      tables: ['activities', 'activity_deliveries'],
      events: ['ActivityDeliveryRequested', 'ActivityDeliveryRequested'],
      joins: true,
      prepare: async (stored) => {
        const { name, actor, userId } = await follower(stored);
        const user = await stored.users.byName(name);
        if (!user) throw new Error('The user is gone');
        const film = { number: 4_711, title: 'Metropolis' };
        for (const reviewId of [randomUUID(), randomUUID()])
          await logReview(stored.reviews, {
            reviewId,
            userId,
            film,
            rating: 8,
            comment: null,
            watchedOn: '2024-02-01',
          });
        const about = { user, actor, causationId: randomUUID(), published: '2024-02-01T20:15:00Z' };
        return (over) => backfillFollower({ ...over, origin: ORIGIN }, about, new AbortController().signal);
      },
    },
  ],
};
