import { Refusal } from '../domain/refusal';
import { relationId } from '../domain/relation';
import { RemoteFollowEnded } from '../events/follows';
import type { RemoteFollowings } from '../ports/remoteFollows';

/** Of an actor who is not followed, nothing. @throws Refusal */
export async function unfollowActor(
  remoteFollowings: RemoteFollowings,
  { userId, actor }: { readonly userId: string; readonly actor: string },
): Promise<void> {
  const before = await remoteFollowings.find(userId, actor);
  if (!before || before.state === 'ended') return;
  const version = before.version + 1;
  const event = RemoteFollowEnded.event({
    aggregateId: relationId(userId, actor),
    payload: { userId, actor, version },
  });
  if (!(await remoteFollowings.save(userId, { actor, state: 'ended', version }, [event])))
    throw new Refusal('conflict', 'The follow of this actor was changed at the same time; try again');
}
