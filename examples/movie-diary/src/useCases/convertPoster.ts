import { THUMBNAIL_WIDTH, thumbnailKey, UnreadableImage } from '../domain/poster';
import type { Images } from '../ports/images';
import type { ObjectStore } from '../ports/objectStore';
import type { Posters } from '../ports/posters';

/**
 * Makes the copy that pages show, unless it is there. An original that cannot be read is noted with its reason, and that
 * is the end of it: no attempt would ever do better.
 */
export async function convertPoster(
  deps: { readonly posters: Posters; readonly objects: ObjectStore; readonly images: Images },
  filmId: string,
  signal: AbortSignal,
): Promise<void> {
  const { posters, objects, images } = deps;
  const target = thumbnailKey(filmId);
  await posters.whileLocked(filmId, async (poster) => {
    // What is there but not stored any more is about to be replaced; that will be another event.
    if (!poster || poster.sha256 === null || !poster.filmIsThere) return;
    if (await objects.has(target, signal)) return;
    const original = await objects.get(poster.objectKey, signal);
    if (!original) return;
    try {
      const copy = await images.thumbnail(original, THUMBNAIL_WIDTH);
      await poster.stillLocked();
      await objects.put(target, copy, 'image/webp', signal);
    } catch (error) {
      if (!(error instanceof UnreadableImage)) throw error;
      await poster.unreadable(error.message);
    }
  });
}
