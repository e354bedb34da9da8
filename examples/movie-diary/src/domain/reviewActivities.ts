import { activityId, reviewUri, type Activity } from './activity';
import type { Film } from './film';
import { activityOf, type Occurrence } from './occurrence';
import type { ReviewContent } from './review';

/** A review as other instances see it. */
export interface Note extends ReviewContent {
  /** The review's URI. */
  readonly id: string;
  readonly type: 'Note';
  readonly attributedTo: string;
  readonly film: Pick<Film, 'number' | 'title'>;
  readonly version: number;
}

/** What is left of a review that was deleted. */
export interface Tombstone {
  readonly id: string;
  readonly type: 'Tombstone';
  readonly version: number;
}

interface Told extends ReviewContent {
  readonly reviewId: string;
  readonly film: Pick<Film, 'number' | 'title'>;
}

export function note(
  { origin, actor, version }: Pick<Occurrence, 'origin' | 'actor' | 'version'>,
  { reviewId, film, rating, comment, watchedOn }: Told,
): Note {
  const { number, title } = film;
  const id = reviewUri(origin, reviewId);
  return { id, type: 'Note', attributedTo: actor, film: { number, title }, rating, comment, watchedOn, version };
}

export function tombstone({ origin, version }: Pick<Occurrence, 'origin' | 'version'>, reviewId: string): Tombstone {
  return { id: reviewUri(origin, reviewId), type: 'Tombstone', version };
}

export function createReview(occurrence: Occurrence, review: Told): Activity {
  const object = note(occurrence, review);
  return activityOf('Create', object.id, occurrence, { object });
}

export function updateReview(occurrence: Occurrence, review: Told): Activity {
  const object = note(occurrence, review);
  return activityOf('Update', object.id, occurrence, { object });
}

export function deleteReview(occurrence: Occurrence, reviewId: string): Activity {
  const object = tombstone(occurrence, reviewId);
  return activityOf('Delete', object.id, occurrence, { object });
}

/**
 * What is left of the object of an activity that tells, or told, the content of a review: its tombstone, when the review is
 * deleted by now.
 */
export async function leftOf(
  { type, object }: Activity,
  reviews: { deletion(reviewId: string): Promise<{ readonly version: number } | undefined> },
): Promise<Tombstone | undefined> {
  if (type !== 'Create' && type !== 'Update') return undefined;
  const { type: of, id } = object as { readonly type: string; readonly id: string };
  if (of !== 'Note' && of !== 'Tombstone') return undefined;
  const deletion = await reviews.deletion(id.slice(id.lastIndexOf('/') + 1));
  return deletion && { id, type: 'Tombstone', version: deletion.version };
}

/**
 * Of the activities that may have told of the review before this version: its logging, each of its edits, and for those who
 * began to follow in between, a Create of what it was then.
 */
export function idsOfReview(origin: string, reviewId: string, version: number): string[] {
  const uri = reviewUri(origin, reviewId);
  const versions = Array.from({ length: version - 1 }, (_, index) => index + 1);
  return versions.flatMap((at) => (['Create', 'Update'] as const).map((type) => activityId(origin, type, uri, at)));
}
