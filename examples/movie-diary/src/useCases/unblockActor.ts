import { Refusal } from '../domain/refusal';
import { relationId } from '../domain/relation';
import { ActorUnblocked } from '../events/follows';
import type { Blocks } from '../ports/blocks';

/** What the block has ended stays ended. Of an actor who is not blocked, nothing. @throws Refusal */
export async function unblockActor(
  blocks: Blocks,
  { userId, actor }: { readonly userId: string; readonly actor: string },
): Promise<void> {
  const before = await blocks.find(userId, actor);
  if (!before?.active) return;
  const block = { actor, active: false, version: before.version + 1 };
  const event = ActorUnblocked.event({
    aggregateId: relationId(userId, actor),
    payload: { userId, actor, version: block.version },
  });
  if (!(await blocks.save(userId, block, [event])))
    throw new Refusal('conflict', 'The block of this actor was changed at the same time; try again');
}
