import { personOf } from '../domain/film';
import { MovieEnriched } from '../events/films';
import { PersonDiscovered } from '../events/people';
import { PosterRequested } from '../events/posters';
import type { Films, People } from '../ports/films';
import type { MetadataProvider } from '../ports/metadata';

/**
 * Asks the provider about a film. The profile is written last, as it says that all else is done. A film that is gone, or
 * that the provider does not know, is left as it is. Of two answers at once, the older must not be the one that stays:
 * who finds that another has come in meanwhile looks, and asks, again.
 *
 * @param again ask although there is a profile: the provider may know more by now
 */
export async function enrichFilm(
  deps: { readonly films: Films; readonly people: People; readonly metadata: MetadataProvider },
  wish: { readonly filmId: string; readonly again: boolean },
  signal: AbortSignal,
): Promise<void> {
  while (!(await attempt(deps, wish, signal))) signal.throwIfAborted();
}

/** @returns false when another answer has come in meanwhile */
async function attempt(
  { films, people, metadata }: Parameters<typeof enrichFilm>[0],
  { filmId, again }: Parameters<typeof enrichFilm>[1],
  signal: AbortSignal,
): Promise<boolean> {
  const film = await films.find(filmId);
  if (!film || (film.profile && !again)) return true;
  const found = await metadata.film(film.number, signal);
  if (!found) return true;
  const { releasedOn, genre, distributor, posterUrl } = found;
  const director = found.director === null ? null : personOf(found.director);
  if (director) {
    const payload = { personId: director.id, name: director.name };
    await people.discover(director, [PersonDiscovered.event({ aggregateId: director.id, payload })]);
  }
  const enriched = { filmId, directorId: director?.id ?? null, posterUrl };
  return films.saveProfile({ filmId, releasedOn, genre, distributor, director, posterUrl }, film.profile?.enrichedAt, {
    enriched: [MovieEnriched.event({ aggregateId: filmId, payload: enriched })],
    posterRequested:
      posterUrl === null ? [] : [PosterRequested.event({ aggregateId: filmId, payload: { filmId, url: posterUrl } })],
  });
}
