import { Refusal } from '../domain/refusal';
import type { User } from '../domain/user';
import { ProfileUpdated } from '../events/accounts';
import type { Users } from '../ports/users';

/** What is no change writes nothing. @throws Refusal */
export async function changeProfile(users: Users, user: User, displayName: string): Promise<User> {
  if (user.displayName === displayName) return user;
  const after = { ...user, displayName, version: user.version + 1 };
  const event = ProfileUpdated.event({
    aggregateId: user.id,
    payload: { userId: user.id, displayName, movedTo: user.movedTo, version: after.version },
  });
  if (!(await users.change(after, [event])))
    throw new Refusal('conflict', `The profile of ${user.name} was changed at the same time; read it and try again`);
  return after;
}
