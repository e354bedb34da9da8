import { Refusal } from '../domain/refusal';
import { relationId } from '../domain/relation';
import type { User } from '../domain/user';
import { UserUnfollowed } from '../events/follows';
import type { LocalFollows } from '../ports/localFollows';

/** Of somebody who is not followed, nothing. @throws Refusal */
export async function unfollowUser(
  follows: LocalFollows,
  { follower, followee }: { readonly follower: User; readonly followee: User },
): Promise<void> {
  const before = await follows.find(follower.id, followee.id);
  if (!before?.active) return;
  const payload = { followerId: follower.id, followeeId: followee.id, version: before.version + 1 };
  const event = UserUnfollowed.event({ aggregateId: relationId(follower.id, followee.id), payload });
  if (!(await follows.save({ ...payload, active: false }, [event])))
    throw new Refusal('conflict', `The follow of ${followee.name} was changed at the same time; try again`);
}
