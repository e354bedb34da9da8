import type { NewEvent } from 'temporal-outbox/producer';
import type { User } from '../domain/user';

export interface Users {
  byName(name: string): Promise<User | undefined>;
  byId(id: string): Promise<User | undefined>;
  /** @returns false when the name is taken */
  register(user: User, privateKey: string, events: readonly NewEvent[]): Promise<boolean>;
  /** Display name and `movedTo`. @returns false when the stored version is not the one before `user.version` */
  change(user: User, events: readonly NewEvent[]): Promise<boolean>;
  /** Ed25519, PEM: for signing what the user sends. */
  privateKeyOf(id: string): Promise<string>;
}
