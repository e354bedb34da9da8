import type { NewEvent } from 'temporal-outbox/producer';

export interface ReceivedActivity {
  readonly id: string;
  /** Whose inbox it came to. */
  readonly userId: string;
  /** The sender, as the signature proves it. */
  readonly actor: string;
  readonly type: string;
  readonly body: object;
}

export interface Inbox {
  find(id: string, userId: string): Promise<ReceivedActivity | undefined>;
  /** @returns `known`: it came before, and nothing is written; `blocked`: the user blocks its actor, and nothing is written */
  receive(activity: ReceivedActivity, events: readonly NewEvent[]): Promise<'received' | 'known' | 'blocked'>;
  /**
   * Takes the content out of every activity that told of this review up to its deletion; what is left means nothing. Of a
   * review that is not deleted, nothing.
   */
  forgetDeletedReview(uri: string): Promise<void>;
}
