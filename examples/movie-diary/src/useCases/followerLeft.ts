import { relationId } from '../domain/relation';
import { RemoteFollowerRemoved } from '../events/follows';
import type { RemoteFollowers } from '../ports/remoteFollows';

/** The actor's own decision. @returns false when it came late or twice, or nothing has ended with it */
export function followerLeft(
  remoteFollowers: RemoteFollowers,
  follower: { readonly userId: string; readonly actor: string; readonly inbox: string; readonly version: number },
): Promise<boolean> {
  const { userId, actor, inbox, version } = follower;
  const event = RemoteFollowerRemoved.event({
    aggregateId: relationId(userId, actor),
    payload: { userId, actor, version },
  });
  return remoteFollowers.save(userId, { actor, inbox, active: false, version }, [event]);
}
