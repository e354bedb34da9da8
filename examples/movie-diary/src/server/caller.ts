import { Refusal } from '../domain/refusal';
import type { User } from '../domain/user';
import type { Users } from '../ports/users';

/** The user whom a path names. @throws Refusal when there is none */
export async function userNamed(users: Users, name: string): Promise<User> {
  const user = await users.byName(name);
  if (!user) throw new Refusal('not found', `There is no user ${name}`);
  return user;
}
