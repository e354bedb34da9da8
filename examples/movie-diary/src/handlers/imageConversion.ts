import { defineHandler, type Handler } from 'temporal-outbox';
import { joined } from '../adapters/postgres/connection';
import { PostgresPosters } from '../adapters/postgres/posters';
import { ImageStored } from '../events/posters';
import type { Images } from '../ports/images';
import type { ObjectStore } from '../ports/objectStore';
import { convertPoster } from '../useCases/convertPoster';

/**
 * Safe to run again: the exact target key is looked for first, and a missing original means that there is nothing to do.
 * Transactional for the lock: it never puts a copy behind the back of the clean-up, and never one of an original that is
 * being replaced.
 */
export function imageConversion(objects: ObjectStore, images: Images): Handler {
  return defineHandler({
    name: 'image-conversion',
    events: [ImageStored],
    transactional: true,
    run: ({ payload: { filmId } }, { tx, signal }) =>
      convertPoster({ posters: new PostgresPosters(joined(tx)), objects, images }, filmId, signal),
  });
}
