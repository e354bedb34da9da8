import type { Activity } from '../domain/activity';

export interface SigningKey {
  /** The actor's URI, `#` and a name. */
  readonly id: string;
  /** Ed25519, PEM. */
  readonly privateKey: string;
}

/** Where actors of other instances take activities. */
export interface Inboxes {
  /**
   * Sends the activity once. When this throws, whether it arrived may be unknown.
   *
   * @returns `refused` when the inbox will never take it
   * @throws Error when it may take it later
   */
  post(inbox: string, activity: Activity, key: SigningKey, signal?: AbortSignal): Promise<'delivered' | 'refused'>;
}
