import type { NewEvent } from 'temporal-outbox/producer';
import type { Film } from '../domain/film';
import type { WatchEvent } from '../domain/watchEvent';

export interface WatchEvents {
  find(id: string): Promise<WatchEvent | undefined>;
  /**
   * Stores the film too, unless it is known, and writes the events, in one transaction.
   *
   * @returns false when it was received before; then nothing is written
   */
  add(
    watchEvent: WatchEvent,
    film: Film,
    events: { readonly received: readonly NewEvent[]; readonly filmDiscovered: readonly NewEvent[] },
  ): Promise<boolean>;
}
