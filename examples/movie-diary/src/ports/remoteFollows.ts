import type { NewEvent } from 'temporal-outbox/producer';

export interface RemoteFollowing {
  readonly actor: string;
  readonly state: 'requested' | 'accepted' | 'ended';
  readonly version: number;
}

/** Local users who follow actors of other instances. Every change and its events are one transaction. */
export interface RemoteFollowings {
  find(userId: string, actor: string): Promise<RemoteFollowing | undefined>;
  /** @returns false when the stored version is not the one before: somebody else was faster, or it is a repeat */
  save(userId: string, following: RemoteFollowing, events: readonly NewEvent[]): Promise<boolean>;
}

export interface RemoteFollower {
  readonly actor: string;
  readonly inbox: string;
  readonly active: boolean;
  /** The follower's own, as its activities carry it. */
  readonly version: number;
}

/** Actors of other instances who follow local users. */
export interface RemoteFollowers {
  /** Of the active followers whom the user does not block, each once. */
  inboxesOf(userId: string): Promise<string[]>;
  /** @returns false when the stored version is as high or higher: it came late, or twice, and changes nothing */
  save(userId: string, follower: RemoteFollower, events: readonly NewEvent[]): Promise<boolean>;
}
