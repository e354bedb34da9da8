import { posterPrefix } from '../domain/poster';
import type { ObjectStore } from '../ports/objectStore';
import type { Posters } from '../ports/posters';

/**
 * Removes all objects of a film that is gone or has no poster any more, then the row that remembers them. A film that is
 * there again keeps them, and so does one that has been given another poster since.
 */
export async function removePoster(
  { posters, objects }: { readonly posters: Posters; readonly objects: ObjectStore },
  filmId: string,
  signal: AbortSignal,
): Promise<void> {
  await posters.whileLocked(filmId, async (poster) => {
    if (!poster || (poster.filmIsThere && poster.sourceUrl !== null)) return;
    for (const key of await objects.list(posterPrefix(filmId), signal)) await objects.delete(key, signal);
    await poster.forget();
  });
}
