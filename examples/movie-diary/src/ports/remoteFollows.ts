import type { NewEvent } from 'temporal-outbox/producer';

export interface RemoteFollowing {
  readonly actor: string;
  readonly state: 'requested' | 'accepted' | 'ended';
  readonly version: number;
}

/** Local users who follow actors of other instances. Every change and its events are one transaction. */
export interface RemoteFollowings {
  find(userId: string, actor: string): Promise<RemoteFollowing | undefined>;
  /**
   * @returns false when the stored version is not the one before: somebody else was faster, or it is a repeat; and for a
   *   request, when the user blocks the actor by now
   */
  save(userId: string, following: RemoteFollowing, events: readonly NewEvent[]): Promise<boolean>;
  /**
   * The version stays: it is that of the request, which the actor has agreed to.
   *
   * @returns false when the user has no such request that waits for an answer
   */
  accept(userId: string, actor: string, version: number, events: readonly NewEvent[]): Promise<boolean>;
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
  find(userId: string, actor: string): Promise<RemoteFollower | undefined>;
  /** Of the active followers whom the user does not block, each once. */
  inboxesOf(userId: string): Promise<string[]>;
  /**
   * A follow of an actor whom the user blocks is kept as ended: it is spent, and cannot come into force later. An end
   * that comes before its follow is kept too, without events, since nothing has ended.
   *
   * @returns false when nothing changed: the stored version is as high or higher (it came late, or twice), the actor is
   *   blocked, or there was nothing to end
   */
  save(userId: string, follower: RemoteFollower, events: readonly NewEvent[]): Promise<boolean>;
  /**
   * The user's own decision, so the version, which is the follower's, stays.
   *
   * @returns false when the actor does not follow the user
   */
  remove(userId: string, actor: string, removed: (version: number) => readonly NewEvent[]): Promise<boolean>;
}
