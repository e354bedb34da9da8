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
  /**
   * From the actor's own instance, and then stored: its profile or its key is another now.
   *
   * @returns undefined when that was asked a moment ago
   * @throws Error as `resolve`
   */
  refresh(uri: string, signal?: AbortSignal): Promise<RemoteActor | undefined>;
}

/** What is remembered of actors elsewhere. */
export interface StoredActors {
  find(uri: string): Promise<RemoteActor | undefined>;
  /** @returns whether an actor that is stored may be asked for now; then it was, and nobody else may for a while */
  claimRefresh(uri: string): Promise<boolean>;
  /** What is stored already of a later version stays. */
  save(actor: RemoteActor, version: number): Promise<void>;
  /** A move that is stored already of a later version stays. */
  move(uri: string, target: string, version: number): Promise<void>;
}
