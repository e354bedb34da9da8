import { filmOf, type Film } from '../domain/film';
import { Refusal } from '../domain/refusal';
import { entryId } from '../domain/watchlist';
import { MovieDiscovered } from '../events/films';
import { WatchlistEntryAdded } from '../events/watchlist';
import type { Watchlist } from '../ports/watchlist';

/** What is listed already is left alone, without an event. @throws Refusal */
export async function addToWatchlist(
  watchlist: Watchlist,
  command: { readonly userId: string; readonly film: { readonly number: number; readonly title: string } },
): Promise<{ film: Film; isNew: boolean }> {
  const { userId } = command;
  const film = filmOf(command.film.number, command.film.title);
  const entry = await watchlist.find(userId, film.id);
  if (entry?.listed) return { film: entry.film, isNew: false };
  const version = (entry?.version ?? 0) + 1;
  const facts = ({ id, number, title }: Film) => ({ filmId: id, number, title });
  const added = (stored: Film) => [
    WatchlistEntryAdded.event({
      aggregateId: entryId(userId, film.id),
      payload: { ...facts(stored), userId, version },
    }),
  ];
  const discovered = MovieDiscovered.event({ aggregateId: film.id, payload: facts(film) });
  const stored = await watchlist.add(userId, film, version, { added, filmDiscovered: [discovered] });
  if (!stored)
    throw new Refusal(
      'conflict',
      `The entry of film ${film.number} was changed at the same time; read it and try again`,
    );
  return { film: stored, isNew: true };
}
