import { defineHandler, type Handler } from 'temporal-outbox';
import { joined } from '../adapters/postgres/connection';
import { PostgresPosters } from '../adapters/postgres/posters';
import { PosterRequested } from '../events/posters';
import type { MetadataProvider } from '../ports/metadata';
import type { ObjectStore } from '../ports/objectStore';
import { syncPoster } from '../useCases/syncPoster';

/**
 * Safe to run again: a poster that is stored is skipped. That it is stored, and the events that say so, commit with the
 * ledger; a run that died after it had put the object puts the same one under the same key again. Two at once wait for
 * each other at the locked row; one that has lost it with its connection puts nothing. Of a film that is gone nothing is
 * fetched, and what was fetched just before it went is removed by its clean-up, which waits for the lock too.
 */
export function posterSync(metadata: MetadataProvider, objects: ObjectStore): Handler {
  return defineHandler({
    name: 'poster-sync',
    events: [PosterRequested],
    transactional: true,
    run: ({ payload: { filmId } }, { tx, signal }) =>
      syncPoster({ posters: new PostgresPosters(joined(tx)), metadata, objects }, filmId, signal),
  });
}
