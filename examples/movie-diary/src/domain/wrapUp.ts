import { v5 } from 'uuid';
import { NAMESPACE } from './film';
import type { Review } from './review';

export type WrapUpState = 'requested' | 'generating' | 'completed';

export interface WrapUp {
  readonly id: string;
  readonly userId: string;
  readonly year: number;
  readonly state: WrapUpState;
  /** Once it is completed. */
  readonly summary: WrapUpSummary | null;
}

/** A user's year in figures. */
export interface WrapUpSummary {
  readonly reviews: number;
  readonly films: number;
  /** To two places; null without reviews. */
  readonly averageRating: number | null;
  /** Highest rating; of several, the one watched last. */
  readonly best: { readonly filmId: string; readonly title: string; readonly rating: number } | null;
  /** Reviews in each month, January first. */
  readonly months: readonly number[];
}

export type ReviewOfYear = Pick<Review, 'filmId' | 'rating' | 'watchedOn'> & { readonly title: string };

/** One wrap-up for each user and year, however often it is asked for. */
export function wrapUpId(userId: string, year: number): string {
  return v5(`wrap-up ${userId} ${year}`, NAMESPACE);
}

/** @param reviews in any order: the same reviews give the same summary */
export function summarise(reviews: readonly ReviewOfYear[]): WrapUpSummary {
  const months = Array.from({ length: 12 }, () => 0);
  let [sum, best] = [0, undefined as ReviewOfYear | undefined];
  for (const review of reviews) {
    const month = Number(review.watchedOn.slice(5, 7)) - 1;
    months[month] = (months[month] ?? 0) + 1;
    sum += review.rating;
    if (!best || isBetter(review, best)) best = review;
  }
  return {
    reviews: reviews.length,
    films: new Set(reviews.map(({ filmId }) => filmId)).size,
    averageRating: reviews.length === 0 ? null : Math.round((sum / reviews.length) * 100) / 100,
    best: best ? { filmId: best.filmId, title: best.title, rating: best.rating } : null,
    months,
  };
}

function isBetter(one: ReviewOfYear, other: ReviewOfYear): boolean {
  if (one.rating !== other.rating) return one.rating > other.rating;
  if (one.watchedOn !== other.watchedOn) return one.watchedOn > other.watchedOn;
  return one.filmId > other.filmId;
}
