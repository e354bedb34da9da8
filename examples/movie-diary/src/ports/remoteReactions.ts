export interface RemoteReaction {
  readonly actor: string;
  readonly kind: 'like' | 'announce' | 'watchlist' | 'block';
  /** URI of the review or, of a block, of the user; of a watchlist the film's id. */
  readonly object: string;
  readonly active: boolean;
  readonly version: number;
}

/** Of actors of other instances. */
export interface RemoteReactions {
  /** Active likes and announcements of a review, by actor. */
  ofReview(reviewUri: string): Promise<Pick<RemoteReaction, 'actor' | 'kind'>[]>;
  /** @returns the version that it replaces, 0 where there was none; undefined when it came late or twice: nothing changed */
  save(reaction: RemoteReaction): Promise<number | undefined>;
}
