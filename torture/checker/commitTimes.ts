import { grouped } from './byEvent';
import type { History } from './history';

/** Between a commit and the moment in which its producer has written down that it knows. */
export const KNOWN_WITHIN_MS = 1_000;

/**
 * When each event was committed: at most `KNOWN_WITHIN_MS` before the time that is given; one that a handler wrote, some
 * time after it. Of events that are not named nobody knows.
 */
export function commitTimes({ business, producers, handlers }: History): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const { kind, ids, at } of producers) if (kind === 'acknowledged') for (const id of ids) times.set(id, at);
  const ends = grouped(
    handlers.filter(({ kind, handler }) => kind === 'end' && handler === 'book'),
    ({ eventId }) => eventId,
  );
  for (const { eventId, cause } of business) {
    const [first] = cause === null ? [] : (ends.get(cause) ?? []);
    if (first) times.set(eventId, first.at);
  }
  return times;
}
