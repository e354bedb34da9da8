import { createHash } from 'node:crypto';
import { thumbnailKey } from '../domain/poster';
import { ImageStored, PosterSynced } from '../events/posters';
import type { MetadataProvider } from '../ports/metadata';
import type { ObjectStore } from '../ports/objectStore';
import type { Posters } from '../ports/posters';

/** Fetches the poster that a film's profile names, unless it is stored, the film is gone, or the provider has none. */
export async function syncPoster(
  deps: { readonly posters: Posters; readonly metadata: MetadataProvider; readonly objects: ObjectStore },
  filmId: string,
  signal: AbortSignal,
): Promise<void> {
  const { posters, metadata, objects } = deps;
  await posters.whileLocked(filmId, async (poster) => {
    if (!poster || poster.sha256 !== null || !poster.filmIsThere) return;
    const { sourceUrl, objectKey: key } = poster;
    if (sourceUrl === null) return;
    const image = await metadata.image(sourceUrl, signal);
    if (!image) return;
    await poster.stillLocked();
    // Before the original changes: a copy that is there is taken for one of the original that is there.
    await objects.delete(thumbnailKey(filmId), signal);
    await objects.put(key, image.body, image.contentType, signal);
    const sha256 = createHash('sha256').update(image.body).digest('hex');
    await poster.stored(sha256, [
      ImageStored.event({ aggregateId: filmId, payload: { filmId, key, sha256 } }),
      PosterSynced.event({ aggregateId: filmId, payload: { filmId, key } }),
    ]);
  });
}
