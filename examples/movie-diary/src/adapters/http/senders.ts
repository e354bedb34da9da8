import type { RemoteActor, RemoteActors } from '../../ports/remoteActors';
import { InvalidSignature, type HttpRequest, type Senders } from '../../ports/senders';
import { precheck, verify } from './signature';

export class HttpSenders implements Senders {
  constructor(private readonly actors: RemoteActors) {}

  /**
   * Nobody is asked for a key on behalf of a request that is refused whatever the key is. An actor may have another key by
   * now: one that does not fit is asked for once more before the request is refused, though not at every request.
   */
  async verify(request: HttpRequest, uri: string): Promise<RemoteActor> {
    await precheck(request, uri);
    const known = await this.actors.resolve(uri);
    try {
      await verify(request, known);
      return known;
    } catch (error) {
      if (!(error instanceof InvalidSignature)) throw error;
      const actor = await this.actors.refresh(uri);
      if (!actor || (actor.keyId === known.keyId && actor.publicKey === known.publicKey)) throw error;
      await verify(request, actor);
      return actor;
    }
  }
}
