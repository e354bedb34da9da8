import { Refusal } from '../domain/refusal';
import { MovieEnrichmentRequested } from '../events/films';
import type { Films } from '../ports/films';

/** The film's data are fetched again; what is unchanged then leads to nothing. @throws Refusal */
export async function requestFilmEnrichment(films: Films, filmId: string): Promise<void> {
  const film = await films.find(filmId);
  const event =
    film && MovieEnrichmentRequested.event({ aggregateId: filmId, payload: { filmId, number: film.number } });
  if (!event || !(await films.requestEnrichment(filmId, [event])))
    throw new Refusal('not found', `There is no film ${filmId}`);
}
