import type { NewEvent } from 'temporal-outbox/producer';
import type { Film } from '../domain/film';
import type { Review } from '../domain/review';

/** Each method that changes something writes the events of the change in the same transaction. */
export interface Reviews {
  find(id: string): Promise<Review | undefined>;
  /** Of a review that is gone for good: whose it was, and the version of its deletion. */
  deletion(id: string): Promise<Pick<Review, 'userId' | 'version'> | undefined>;
  /** Newest viewing first. */
  ofUser(userId: string): Promise<Review[]>;
  /**
   * Stores the film too, unless it is known.
   *
   * @returns `known`: there is a review of this id, which stays as it is; `deleted`: there was one
   */
  add(
    review: Review,
    film: Film,
    events: { readonly logged: readonly NewEvent[]; readonly filmDiscovered: readonly NewEvent[] },
  ): Promise<'added' | 'known' | 'deleted'>;
  /** @returns false when the stored version is not the one before `review.version`: somebody else was faster */
  change(review: Review, events: readonly NewEvent[]): Promise<boolean>;
  /**
   * Removes the film too when nothing refers to it any more.
   *
   * @param review its version is the deletion's
   * @returns false when the stored version is not the one before
   */
  remove(
    review: Review,
    events: { readonly deleted: readonly NewEvent[]; readonly filmOrphaned: readonly NewEvent[] },
  ): Promise<boolean>;
}
