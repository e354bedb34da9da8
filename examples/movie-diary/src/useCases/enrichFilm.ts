import { personOf } from '../domain/film';
import { MovieEnriched } from '../events/films';
import { PersonDiscovered } from '../events/people';
import { PosterRequested } from '../events/posters';
import type { Films, People } from '../ports/films';
import type { MetadataProvider } from '../ports/metadata';

/**
 * Asks the provider about a film. The profile is written last, as it says that all else is done. A film that is gone, or
 * that the provider does not know, is left as it is.
 *
 * @param again ask although there is a profile: the provider may know more by now
 */
export async function enrichFilm(
  { films, people, metadata }: { readonly films: Films; readonly people: People; readonly metadata: MetadataProvider },
  { filmId, again }: { readonly filmId: string; readonly again: boolean },
  signal: AbortSignal,
): Promise<void> {
  const film = await films.find(filmId);
  if (!film || (film.profile && !again)) return;
  const found = await metadata.film(film.number, signal);
  if (!found) return;
  const { releasedOn, genre, distributor, posterUrl } = found;
  const director = found.director === null ? null : personOf(found.director);
  if (director) {
    const payload = { personId: director.id, name: director.name };
    await people.discover(director, [PersonDiscovered.event({ aggregateId: director.id, payload })]);
  }
  const enriched = { filmId, directorId: director?.id ?? null, posterUrl };
  await films.saveProfile(
    { filmId, releasedOn, genre, distributor, director, posterUrl },
    {
      enriched: [MovieEnriched.event({ aggregateId: filmId, payload: enriched })],
      posterRequested:
        posterUrl === null ? [] : [PosterRequested.event({ aggregateId: filmId, payload: { filmId, url: posterUrl } })],
    },
  );
}
