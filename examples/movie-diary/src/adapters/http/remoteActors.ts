import { z } from 'zod';
import { displayName, uri, version } from '../../events/fields';
import type { RemoteActor, RemoteActors, StoredActors } from '../../ports/remoteActors';
import { fetchDocument } from './document';

const pem = z.string().regex(/^[\x20-\x7e\r\n]{1,2000}$/);

const document = z.object({
  id: uri,
  inbox: uri,
  name: displayName,
  publicKey: z.object({ id: uri, owner: uri, publicKeyPem: pem }),
  movedTo: uri.nullish(),
  // An instance that counts no versions of its actors sends none.
  version: version.or(z.literal(0)).default(0),
});

/**
 * Actors of other instances: asked once, then remembered.
 *
 * Not built: there is no filter of private addresses, so an actor's URI makes this process send a GET to whatever host it
 * names, and no limit over all actors. An instance that is open to the internet belongs behind an egress proxy that has both.
 */
export class HttpRemoteActors implements RemoteActors {
  constructor(private readonly stored: StoredActors) {}

  async resolve(actor: string, signal?: AbortSignal): Promise<RemoteActor> {
    return (await this.stored.find(actor)) ?? this.ask(actor, signal);
  }

  async refresh(actor: string, signal?: AbortSignal): Promise<RemoteActor | undefined> {
    return (await this.stored.claimRefresh(actor)) ? this.ask(actor, signal) : undefined;
  }

  private async ask(actor: string, signal?: AbortSignal): Promise<RemoteActor> {
    if (!uri.safeParse(actor).success) throw new Error('The URI of an actor must be one of http or https');
    const { success, data } = document.safeParse(await fetchDocument(actor, signal));
    const host = new URL(actor).host;
    if (!success) throw new Error(`${host} answered with a document that is not an actor’s`);
    const { id, inbox, name: displayName, publicKey, movedTo = null, version } = data;
    if (id !== actor) throw new Error(`${host} answered with another actor than the one that was asked for`);
    // Else an actor could have mail sent to anybody, or lend itself the key of another.
    if (publicKey.owner !== actor || !publicKey.id.startsWith(`${actor}#`) || originOf(inbox) !== originOf(actor))
      throw new Error(`${host} answered with an actor whose key or inbox is not its own`);
    const found = { uri: actor, inbox, keyId: publicKey.id, publicKey: publicKey.publicKeyPem, displayName, movedTo };
    await this.stored.save(found, version);
    return found;
  }
}

function originOf(address: string): string {
  return new URL(address).origin;
}
