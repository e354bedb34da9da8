import { Refusal } from '../domain/refusal';
import type { User } from '../domain/user';
import { AccountMoved } from '../events/accounts';
import type { Users } from '../ports/users';

/** The user goes on as another actor. Said again it is the same move. @throws Refusal */
export async function moveAccount(users: Users, user: User, target: string): Promise<User> {
  if (user.movedTo === target) return user;
  const after = { ...user, movedTo: target, version: user.version + 1 };
  const event = AccountMoved.event({
    aggregateId: user.id,
    payload: { userId: user.id, target, version: after.version },
  });
  if (!(await users.change(after, [event])))
    throw new Refusal('conflict', `The account ${user.name} was changed at the same time; read it and try again`);
  return after;
}
