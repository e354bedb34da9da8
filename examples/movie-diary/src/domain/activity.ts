import { v5 } from 'uuid';
import { NAMESPACE } from './film';

/** What this instance tells others, in the words of ActivityPub. */
export type ActivityType =
  'Create' | 'Update' | 'Delete' | 'Announce' | 'Like' | 'Add' | 'Move' | 'Follow' | 'Accept' | 'Block' | 'Undo';

export interface Activity {
  /** `<origin>/activities/<uuid>`, from `activityId` or `undoId`; never a random one. */
  readonly id: string;
  readonly type: ActivityType;
  /** The actor's URI. */
  readonly actor: string;
  /** A URI, or the object itself; of an Undo and an Accept the activity that is meant. */
  readonly object: unknown;
  /** Of an Add the collection, of a Move the new actor. */
  readonly target?: string;
  /** Of the subject, after what happened. What arrives late is told by it: the highest version of a subject counts. */
  readonly version: number;
  /** When it happened, so a repeat is the same to the letter. */
  readonly published: string;
}

/**
 * The id of "this happened to that subject, in that version": a repeat after a crash is the same activity again, which
 * receivers drop, and never a second one.
 *
 * @param subject what it happened to: a URI, or two with a space between where it is a relation
 */
export function activityId(origin: string, type: ActivityType, subject: string, version: number): string {
  return `${origin}/activities/${v5(`${type} ${subject} ${version}`, NAMESPACE)}`;
}

/** The id of the Undo of an activity: there is one, however often it is undone. */
export function undoId(origin: string, activity: string): string {
  return `${origin}/activities/${v5(`Undo ${activity}`, NAMESPACE)}`;
}

export const actorUri = (origin: string, userName: string) => `${origin}/users/${userName}`;
export const inboxUri = (origin: string, userName: string) => `${actorUri(origin, userName)}/inbox`;
export const keyId = (actor: string) => `${actor}#main-key`;
export const watchlistUri = (actor: string) => `${actor}/watchlist`;
export const reviewUri = (origin: string, reviewId: string) => `${origin}/reviews/${reviewId}`;
