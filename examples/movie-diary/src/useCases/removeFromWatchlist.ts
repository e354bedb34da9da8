import { filmOf } from '../domain/film';
import { Refusal } from '../domain/refusal';
import { entryId } from '../domain/watchlist';
import { WatchlistEntryRemoved } from '../events/watchlist';
import type { Watchlist } from '../ports/watchlist';

/** What is not listed is left alone, without an event. The film stays, whether or not anything refers to it. @throws Refusal */
export async function removeFromWatchlist(
  watchlist: Watchlist,
  { userId, filmNumber }: { readonly userId: string; readonly filmNumber: number },
): Promise<void> {
  const filmId = filmOf(filmNumber, '').id;
  const entry = await watchlist.find(userId, filmId);
  if (!entry?.listed) return;
  const version = entry.version + 1;
  const { number, title } = entry.film;
  const event = WatchlistEntryRemoved.event({
    aggregateId: entryId(userId, filmId),
    payload: { userId, filmId, number, title, version },
  });
  if (!(await watchlist.remove(userId, filmId, version, [event])))
    throw new Refusal('conflict', `The entry of film ${number} was changed at the same time; read it and try again`);
}
