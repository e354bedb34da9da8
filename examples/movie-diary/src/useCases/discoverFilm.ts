import { filmOf, type Film } from '../domain/film';
import { MovieDiscovered } from '../events/films';
import type { Films } from '../ports/films';

/** @returns the film as it is stored, and whether it was unknown until now: a known one keeps its title */
export async function discoverFilm(
  films: Films,
  { number, title }: { readonly number: number; readonly title: string },
): Promise<{ film: Film; isNew: boolean }> {
  const film = filmOf(number, title);
  const event = MovieDiscovered.event({ aggregateId: film.id, payload: { filmId: film.id, number, title } });
  return films.discover(film, [event]);
}
