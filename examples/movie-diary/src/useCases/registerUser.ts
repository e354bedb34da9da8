import { generateKeyPairSync } from 'node:crypto';
import { v5 } from 'uuid';
import { NAMESPACE } from '../domain/film';
import type { User } from '../domain/user';
import { UserRegistered } from '../events/accounts';
import type { Users } from '../ports/users';

/** A repeated request finds the user there. The id is derived from the name, which is never given twice. */
export async function registerUser(
  users: Users,
  { name, displayName }: { readonly name: string; readonly displayName: string },
): Promise<{ user: User; isNew: boolean }> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const id = v5(`user ${name}`, NAMESPACE);
  const user: User = { id, name, displayName, version: 1, movedTo: null, publicKey };
  const event = UserRegistered.event({ aggregateId: id, payload: { userId: id, name } });
  if (await users.register(user, privateKey, [event])) return { user, isNew: true };
  return { user: (await users.byName(name)) ?? user, isNew: false };
}
