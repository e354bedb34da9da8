/** Of the copy that pages show. */
export const THUMBNAIL_WIDTH = 200;

/** Everything in the object store that belongs to a film lies under this prefix. */
export function posterPrefix(filmId: string): string {
  return `posters/${filmId}/`;
}

/** The poster as the provider gave it. */
export function originalKey(filmId: string): string {
  return `${posterPrefix(filmId)}original`;
}

export function thumbnailKey(filmId: string): string {
  return `${posterPrefix(filmId)}w${THUMBNAIL_WIDTH}.webp`;
}

/** What was given is no image that can be read, and never will be. */
export class UnreadableImage extends Error {
  override readonly name = 'UnreadableImage';
}
