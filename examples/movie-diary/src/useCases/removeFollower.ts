import { relationId } from '../domain/relation';
import { RemoteFollowerRemoved } from '../events/follows';
import type { RemoteFollowers } from '../ports/remoteFollows';

/**
 * The user's decision; the actor may follow again. The actor's instance is not told: there is no Reject, so the follow goes
 * on there as accepted, and nothing comes of it.
 *
 * @returns false when the actor does not follow the user
 */
export function removeFollower(
  remoteFollowers: RemoteFollowers,
  { userId, actor }: { readonly userId: string; readonly actor: string },
): Promise<boolean> {
  return remoteFollowers.remove(userId, actor, (version) => [
    RemoteFollowerRemoved.event({ aggregateId: relationId(userId, actor), payload: { userId, actor, version } }),
  ]);
}
