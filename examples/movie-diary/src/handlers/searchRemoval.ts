import { defineHandler, type Handler } from 'temporal-outbox';
import { joined } from '../adapters/postgres/connection';
import { PostgresSearchIndex } from '../adapters/postgres/searchIndex';
import { MovieDeleted } from '../events/films';

/** Safe to run again: a keyed removal, and none of a film that has been discovered anew since. */
export function searchRemoval(): Handler {
  return defineHandler({
    name: 'search-removal',
    events: [MovieDeleted],
    transactional: true,
    run: ({ payload }, { tx }) => new PostgresSearchIndex(joined(tx)).removeFilm({ id: payload.filmId }),
  });
}
