import { Refusal } from '../domain/refusal';
import { relationId } from '../domain/relation';
import { ActorBlocked, RemoteFollowEnded, RemoteFollowerRemoved } from '../events/follows';
import type { Blocks } from '../ports/blocks';

/** Ends the follows between the two, in both directions. Said again it is the same block. @throws Refusal */
export async function blockActor(
  blocks: Blocks,
  { userId, actor }: { readonly userId: string; readonly actor: string },
): Promise<void> {
  const before = await blocks.find(userId, actor);
  if (before?.active) return;
  const block = { actor, active: true, version: (before?.version ?? 0) + 1 };
  const about = (version: number) => ({
    aggregateId: relationId(userId, actor),
    payload: { userId, actor, version },
  });
  const saved = await blocks.save(userId, block, [ActorBlocked.event(about(block.version))], {
    followerRemoved: (version) => [RemoteFollowerRemoved.event(about(version))],
    followingEnded: (version) => [RemoteFollowEnded.event(about(version))],
  });
  if (!saved) throw new Refusal('conflict', 'The block of this actor was changed at the same time; try again');
}
