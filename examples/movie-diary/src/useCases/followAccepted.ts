import { relationId } from '../domain/relation';
import { RemoteFollowAccepted } from '../events/follows';
import type { RemoteFollowings } from '../ports/remoteFollows';

/**
 * @param answer its version is that of the request that was agreed to
 * @returns false when the user waits for no such answer any more
 */
export function followAccepted(
  remoteFollowings: RemoteFollowings,
  answer: { readonly userId: string; readonly actor: string; readonly version: number },
): Promise<boolean> {
  const { userId, actor, version } = answer;
  const event = RemoteFollowAccepted.event({
    aggregateId: relationId(userId, actor),
    payload: { userId, actor, version },
  });
  return remoteFollowings.accept(userId, actor, version, [event]);
}
