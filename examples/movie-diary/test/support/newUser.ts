import { randomUUID } from 'node:crypto';
import type { Repositories } from '../../src/adapters/postgres/repositories';
import type { User } from '../../src/domain/user';
import { registerUser } from '../../src/useCases/registerUser';

/** A user whom nobody has heard of yet. */
export async function newUser({ users }: Pick<Repositories, 'users'>): Promise<User> {
  const name = `u${randomUUID().slice(0, 8)}`;
  return (await registerUser(users, { name, displayName: name })).user;
}
