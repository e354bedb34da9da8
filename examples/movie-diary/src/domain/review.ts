export interface Review {
  readonly id: string;
  readonly userId: string;
  readonly filmId: string;
  /** 1 to 10. */
  readonly rating: number;
  readonly comment: string | null;
  /** YYYY-MM-DD. */
  readonly watchedOn: string;
  /** 1 when it is logged, one more at each edit, and one more at its deletion. */
  readonly version: number;
}

export type ReviewContent = Pick<Review, 'rating' | 'comment' | 'watchedOn'>;

/** What is not named, or undefined, stays. */
export type ReviewEdit = { readonly [Field in keyof ReviewContent]?: ReviewContent[Field] | undefined };

/** @returns the review after the edit; undefined when the edit changes nothing */
export function edited(review: Review, edit: ReviewEdit): Review | undefined {
  const { rating = review.rating, comment = review.comment, watchedOn = review.watchedOn } = edit;
  if (rating === review.rating && comment === review.comment && watchedOn === review.watchedOn) return undefined;
  return { ...review, rating, comment, watchedOn, version: review.version + 1 };
}
