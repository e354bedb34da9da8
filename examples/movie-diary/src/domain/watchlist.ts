import type { Film } from './film';

export interface WatchlistEntry {
  readonly film: Film;
  readonly listed: boolean;
  /** 1 when it is first added, one more at each removal and each further addition. */
  readonly version: number;
}

/** Of the aggregate: what happens to one entry stays in order. */
export function entryId(userId: string, filmId: string): string {
  return `${userId}/${filmId}`;
}
