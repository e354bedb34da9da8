import type { NewEvent } from 'temporal-outbox/producer';

/** The intent to have a film's poster, and what came of it, while nobody else can change either. */
export interface LockedPoster {
  /** Null when the film's profile names none any more; what is left of the last one is then to be removed. */
  readonly sourceUrl: string | null;
  /** Of the original. */
  readonly objectKey: string;
  /** Of what lies there for `sourceUrl`; null until it does. */
  readonly sha256: string | null;
  /** Looked at behind the lock. The film may go meanwhile: its clean-up then comes after this lock. */
  readonly filmIsThere: boolean;
  /**
   * To be asked before an object is put: a lock is lost with its connection, which may have happened long ago, and a
   * clean-up that came meanwhile would not know of the object.
   *
   * @throws Error when it is lost
   */
  stillLocked(): Promise<void>;
  /** Writes the events of it too. */
  stored(sha256: string, events: readonly NewEvent[]): Promise<void>;
  /** @param reason why no copy can be made of the original, until another one is stored */
  unreadable(reason: string): Promise<void>;
  /** Once no object of the film is left. */
  forget(): Promise<void>;
}

export interface Posters {
  /**
   * Every object of a film is written, read and removed inside of `work`, so no two do so at once. What `work` changes
   * here commits when it is over; what it does to objects stays, even if that fails.
   */
  whileLocked(filmId: string, work: (poster: LockedPoster | undefined) => Promise<void>): Promise<void>;
}
