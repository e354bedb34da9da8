import { Refusal } from '../domain/refusal';
import { relationId } from '../domain/relation';
import type { User } from '../domain/user';
import { UserFollowed } from '../events/follows';
import type { LocalFollows } from '../ports/localFollows';

/** Said again it is the same follow. @throws Refusal */
export async function followUser(
  follows: LocalFollows,
  { follower, followee }: { readonly follower: User; readonly followee: User },
): Promise<void> {
  if (follower.id === followee.id) throw new Refusal('invalid', 'Users do not follow themselves');
  const before = await follows.find(follower.id, followee.id);
  if (before?.active) return;
  const payload = { followerId: follower.id, followeeId: followee.id, version: (before?.version ?? 0) + 1 };
  const event = UserFollowed.event({ aggregateId: relationId(follower.id, followee.id), payload });
  if (!(await follows.save({ ...payload, active: true }, [event])))
    throw new Refusal('conflict', `The follow of ${followee.name} was changed at the same time; try again`);
}
