import { defineHandler, type Handler } from 'temporal-outbox';
import type { Connection } from '../adapters/postgres/connection';
import { PostgresFilms } from '../adapters/postgres/films';
import { PostgresPeople } from '../adapters/postgres/people';
import { MovieDiscovered, MovieEnrichmentRequested } from '../events/films';
import type { MetadataProvider } from '../ports/metadata';
import { enrichFilm } from '../useCases/enrichFilm';

/**
 * Safe to run again: upserts that write nothing when nothing is new, the profile last. A discovery whose film has its
 * profile already is not even asked about. Run late, when the film is gone, it writes nothing.
 */
export function filmEnrichment(connection: Connection, metadata: MetadataProvider): Handler {
  const deps = { films: new PostgresFilms(connection), people: new PostgresPeople(connection), metadata };
  return defineHandler({
    name: 'film-enrichment',
    events: [MovieDiscovered, MovieEnrichmentRequested],
    run: ({ type, payload: { filmId } }, { signal }) =>
      enrichFilm(deps, { filmId, again: type === 'MovieEnrichmentRequested' }, signal),
  });
}
