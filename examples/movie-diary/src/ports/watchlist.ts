import type { NewEvent } from 'temporal-outbox/producer';
import type { Film } from '../domain/film';
import type { WatchlistEntry } from '../domain/watchlist';

/** Each method that changes something writes the events of the change in the same transaction. */
export interface Watchlist {
  /** A removed entry is found too: its version goes on where it ended. */
  find(userId: string, filmId: string): Promise<WatchlistEntry | undefined>;
  ofUser(userId: string): Promise<Film[]>;
  /**
   * Stores the film too, unless it is known.
   *
   * @param events `added` is told the film as it is stored: a known one keeps its title
   * @returns that film; undefined when the stored version is not the one before `version`: somebody else was faster
   */
  add(
    userId: string,
    film: Film,
    version: number,
    events: { readonly added: (film: Film) => readonly NewEvent[]; readonly filmDiscovered: readonly NewEvent[] },
  ): Promise<Film | undefined>;
  /** @returns false when the stored version is not the one before `version` */
  remove(userId: string, filmId: string, version: number, events: readonly NewEvent[]): Promise<boolean>;
}
