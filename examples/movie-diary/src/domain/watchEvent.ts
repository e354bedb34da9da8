import { v5 } from 'uuid';
import { NAMESPACE } from './film';

/** A media server says that a user has watched a film. */
export interface WatchEvent {
  readonly id: string;
  readonly userId: string;
  /** The kind of media server. */
  readonly source: string;
  /** The media server's own id of the event. */
  readonly externalId: string;
  readonly filmId: string;
  /** ISO 8601 in UTC. */
  readonly watchedAt: string;
}

/** The same for each repetition of a webhook. A source holds no space, so no two events share the text. */
export function watchEventId(userId: string, source: string, externalId: string): string {
  return v5(`watch event ${userId} ${source} ${externalId}`, NAMESPACE);
}
