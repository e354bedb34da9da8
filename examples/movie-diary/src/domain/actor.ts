import { inboxUri, keyId, actorUri, type Activity } from './activity';
import { activityOf, type Occurrence } from './occurrence';
import type { User } from './user';

/** A user as other instances see it: the document that the actor's URI answers with. */
export interface Actor {
  readonly id: string;
  readonly type: 'Person';
  readonly preferredUsername: string;
  readonly name: string;
  readonly inbox: string;
  readonly publicKey: { readonly id: string; readonly owner: string; readonly publicKeyPem: string };
  readonly movedTo: string | null;
  /** Of the profile. */
  readonly version: number;
}

export function actorOf(origin: string, { name, displayName, publicKey, movedTo, version }: Omit<User, 'id'>): Actor {
  const id = actorUri(origin, name);
  return {
    id,
    type: 'Person',
    preferredUsername: name,
    name: displayName,
    inbox: inboxUri(origin, name),
    publicKey: { id: keyId(id), owner: id, publicKeyPem: publicKey },
    movedTo,
    version,
  };
}

export function updateActor(occurrence: Occurrence, actor: Actor): Activity {
  return activityOf('Update', actor.id, occurrence, { object: actor });
}

export function move(occurrence: Occurrence, target: string): Activity {
  return activityOf('Move', occurrence.actor, occurrence, { object: occurrence.actor, target });
}
