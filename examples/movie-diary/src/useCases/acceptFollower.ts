import { relationId } from '../domain/relation';
import { RemoteFollowerAccepted } from '../events/follows';
import type { RemoteFollowers } from '../ports/remoteFollows';

/** @returns false when it came late or twice, or the user blocks the actor */
export function acceptFollower(
  remoteFollowers: RemoteFollowers,
  follower: { readonly userId: string; readonly actor: string; readonly inbox: string; readonly version: number },
): Promise<boolean> {
  const { userId, actor, inbox, version } = follower;
  const event = RemoteFollowerAccepted.event({
    aggregateId: relationId(userId, actor),
    payload: { userId, actor, version },
  });
  return remoteFollowers.save(userId, { actor, inbox, active: true, version }, [event]);
}
