import { defineHandler, type Handler } from 'temporal-outbox';
import { joined } from '../adapters/postgres/connection';
import { PostgresSearchIndex } from '../adapters/postgres/searchIndex';
import { MovieDiscovered, MovieEnriched } from '../events/films';
import { PersonDiscovered } from '../events/people';

/**
 * Safe to run again: a keyed upsert of what is stored now. Run late, when the film is gone, it enters nothing.
 */
export function searchIndex(): Handler {
  return defineHandler({
    name: 'search-index',
    events: [MovieDiscovered, MovieEnriched, PersonDiscovered],
    transactional: true,
    run: async (event, { tx }) => {
      const index = new PostgresSearchIndex(joined(tx));
      if (event.type === 'PersonDiscovered') await index.putPerson({ id: event.payload.personId });
      else await index.putFilm({ id: event.payload.filmId });
    },
  });
}
