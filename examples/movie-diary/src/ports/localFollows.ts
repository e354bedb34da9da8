import type { NewEvent } from 'temporal-outbox/producer';

export interface LocalFollow {
  readonly followerId: string;
  readonly followeeId: string;
  readonly active: boolean;
  readonly version: number;
}

/** Between users of this instance. */
export interface LocalFollows {
  find(followerId: string, followeeId: string): Promise<LocalFollow | undefined>;
  /** @returns false when the stored version is not the one before: somebody else was faster, or it is a repeat */
  save(follow: LocalFollow, events: readonly NewEvent[]): Promise<boolean>;
}
