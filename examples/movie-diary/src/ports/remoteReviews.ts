import type { NewEvent } from 'temporal-outbox/producer';

export interface RemoteReview {
  readonly uri: string;
  readonly actor: string;
  readonly film: { readonly number: number; readonly title: string };
  readonly rating: number;
  readonly comment: string | null;
  /** YYYY-MM-DD. */
  readonly watchedOn: string;
  readonly version: number;
}

/** Reviews of actors of other instances. The highest version that arrived is what counts, a deletion among them. */
export interface RemoteReviews {
  /** None that is deleted. */
  find(uri: string): Promise<RemoteReview | undefined>;
  /** Of the actors whom the user follows and does not block; the newest viewing first. */
  feedOf(userId: string, limit: number): Promise<RemoteReview[]>;
  /** @returns false when it came late or twice, or the review is another actor's; then no event is written */
  save(review: RemoteReview, events: readonly NewEvent[]): Promise<boolean>;
  /**
   * Leaves a tombstone, also of a review that has not arrived yet.
   *
   * @returns false when no review was removed by it; then no event is written
   */
  remove(review: Pick<RemoteReview, 'uri' | 'actor' | 'version'>, events: readonly NewEvent[]): Promise<boolean>;
}
