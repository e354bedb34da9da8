export interface RemoteActor {
  readonly uri: string;
  readonly inbox: string;
  readonly keyId: string;
  /** Ed25519, PEM. */
  readonly publicKey: string;
  readonly displayName: string;
  readonly movedTo: string | null;
}

export interface RemoteActors {
  /** From what is stored, else from the actor's own instance, and then stored. @throws Error when that does not answer */
  resolve(uri: string, signal?: AbortSignal): Promise<RemoteActor>;
}
