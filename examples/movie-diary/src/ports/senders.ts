import type { RemoteActor } from './remoteActors';

export interface HttpRequest {
  readonly method: string;
  /** Absolute. Of a request that came in: this instance's origin and the path, whatever its Host header says. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it was sent, to the byte. */
  readonly body: string;
}

/** Why a request is not from whom it says. Its text is fit for an answer. */
export class InvalidSignature extends Error {
  override readonly name = 'InvalidSignature';
}

export interface Senders {
  /**
   * @param actor who the request says has sent it
   * @returns the actor, who has sent exactly this to exactly here a short while ago
   * @throws InvalidSignature when that is not so; any other Error when the actor's instance did not answer, so that it
   *   cannot be told yet
   */
  verify(request: HttpRequest, actor: string): Promise<RemoteActor>;
}
