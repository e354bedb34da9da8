import { defineHandler, type Handler } from 'temporal-outbox';
import { joined } from '../adapters/postgres/connection';
import { PostgresPosters } from '../adapters/postgres/posters';
import { MovieDeleted, MovieEnriched } from '../events/films';
import type { ObjectStore } from '../ports/objectStore';
import { removePoster } from '../useCases/removePoster';

/**
 * Safe to run again: an image that is not there counts as deleted, and the row goes last, so a run that died goes on where
 * it was. A film that is there again by then is left alone: with its new profile it asks for its poster anew, whatever
 * this handler had removed before it died.
 *
 * A profile that names a poster removes nothing, so it is not looked at: its lock may be held for as long as a download
 * takes. Whatever profile takes the poster away has an event of its own.
 */
export function imageCleanup(objects: ObjectStore): Handler {
  return defineHandler({
    name: 'image-cleanup',
    events: [MovieDeleted, MovieEnriched],
    transactional: true,
    run: async ({ type, payload }, { tx, signal }) => {
      if (type === 'MovieEnriched' && payload.posterUrl !== null) return;
      await removePoster({ posters: new PostgresPosters(joined(tx)), objects }, payload.filmId, signal);
    },
  });
}
