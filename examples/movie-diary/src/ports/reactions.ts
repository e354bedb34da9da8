import type { NewEvent } from 'temporal-outbox/producer';

export type ReactionKind = 'like' | 'announce';

export interface Reaction {
  readonly userId: string;
  readonly kind: ReactionKind;
  readonly reviewUri: string;
  readonly active: boolean;
  readonly version: number;
}

/** Of local users, to reviews of any instance. */
export interface Reactions {
  find(userId: string, kind: ReactionKind, reviewUri: string): Promise<Reaction | undefined>;
  /** @returns false when the stored version is not the one before: somebody else was faster, or it is a repeat */
  save(reaction: Reaction, events: readonly NewEvent[]): Promise<boolean>;
}
