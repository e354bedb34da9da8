import type { NewEvent } from 'temporal-outbox/producer';

export interface Block {
  readonly actor: string;
  readonly active: boolean;
  readonly version: number;
}

/** What a block ends in its own transaction. Each is asked for its events with the version that the relation has by then. */
export interface EndedByBlock {
  readonly followerRemoved: (version: number) => readonly NewEvent[];
  readonly followingEnded: (version: number) => readonly NewEvent[];
}

/** Actors of other instances whom local users block. */
export interface Blocks {
  find(userId: string, actor: string): Promise<Block | undefined>;
  /**
   * @param ended of a block that begins: both follows between the two end with it
   * @returns false when the stored version is not the one before: somebody else was faster, or it is a repeat
   */
  save(userId: string, block: Block, events: readonly NewEvent[], ended?: EndedByBlock): Promise<boolean>;
}
