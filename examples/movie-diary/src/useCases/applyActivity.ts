import { actorUri } from '../domain/activity';
import type { Meaning } from '../domain/meaning';
import type { User } from '../domain/user';
import type { StoredActors } from '../ports/remoteActors';
import type { RemoteFollowers, RemoteFollowings } from '../ports/remoteFollows';
import type { RemoteReactions } from '../ports/remoteReactions';
import { acceptFollower } from './acceptFollower';
import { followAccepted } from './followAccepted';
import { followerLeft } from './followerLeft';
import { unfollowActor } from './unfollowActor';

interface Deps {
  readonly actors: StoredActors;
  readonly remoteFollowers: RemoteFollowers;
  readonly remoteFollowings: RemoteFollowings;
  readonly remoteReactions: RemoteReactions;
  /** Of this instance. */
  readonly origin: string;
}

/** What an activity of another instance changes for the user whose inbox it came to. What is not about them changes nothing. */
export async function applyActivity(
  deps: Deps,
  { user, actor, meaning }: { readonly user: User; readonly actor: string; readonly meaning: Meaning },
): Promise<void> {
  const { actors, remoteFollowers, remoteFollowings } = deps;
  const userId = user.id;
  const self = actorUri(deps.origin, user.name);
  switch (meaning.kind) {
    case 'followed':
    case 'unfollowed': {
      if (meaning.target !== self) return;
      const { inbox } = await known(actors, actor);
      const change = meaning.kind === 'followed' ? acceptFollower : followerLeft;
      await change(remoteFollowers, { userId, actor, inbox, version: meaning.version });
      return;
    }
    case 'accepted':
      if (meaning.follower === self)
        await followAccepted(remoteFollowings, { userId, actor, version: meaning.version });
      return;
    case 'profile changed': {
      const { displayName, movedTo, version } = meaning;
      await actors.save({ ...(await known(actors, actor)), displayName, movedTo }, version);
      return;
    }
    case 'moved':
      return actors.move(actor, meaning.target, meaning.version);
    case 'reaction': {
      const { reaction, active, version } = meaning;
      const before = await deps.remoteReactions.save({ actor, ...reaction, active, version });
      if (before === undefined || reaction.kind !== 'block' || reaction.object !== self) return;
      // The end of a block that has not arrived yet tells of the block too; that one will come too late to be heeded.
      if (active || version > before + 1) await unfollowActor(remoteFollowings, { userId, actor });
      return;
    }
    // Reviews are about nobody here, and have a handler of their own.
    case 'review saved':
    case 'review removed':
    case 'nothing':
  }
}

async function known(actors: StoredActors, uri: string) {
  const actor = await actors.find(uri);
  // It was stored when the signature of its activity was checked.
  if (!actor) throw new Error('The actor of a received activity is not stored');
  return actor;
}
