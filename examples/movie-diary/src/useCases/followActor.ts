import { Refusal } from '../domain/refusal';
import { relationId } from '../domain/relation';
import { RemoteFollowRequested } from '../events/follows';
import type { Blocks } from '../ports/blocks';
import type { RemoteFollowing, RemoteFollowings } from '../ports/remoteFollows';

interface Deps {
  readonly remoteFollowings: RemoteFollowings;
  readonly blocks: Blocks;
  /** Of this instance. */
  readonly origin: string;
}

/** Asks; the actor's own instance has to agree. Said again it is the same request. @throws Refusal */
export async function followActor(
  { remoteFollowings, blocks, origin }: Deps,
  { userId, actor }: { readonly userId: string; readonly actor: string },
): Promise<RemoteFollowing> {
  if (actor.startsWith(`${origin}/`))
    throw new Refusal('invalid', 'This is an actor of this instance; follow it by its name');
  if ((await blocks.find(userId, actor))?.active)
    throw new Refusal('conflict', 'This actor is blocked; end the block first');
  const before = await remoteFollowings.find(userId, actor);
  if (before && before.state !== 'ended') return before;
  const following = { actor, state: 'requested', version: (before?.version ?? 0) + 1 } as const;
  const event = RemoteFollowRequested.event({
    aggregateId: relationId(userId, actor),
    payload: { userId, actor, version: following.version },
  });
  if (!(await remoteFollowings.save(userId, following, [event])))
    throw new Refusal('conflict', 'The follow of this actor was changed at the same time; try again');
  return following;
}
