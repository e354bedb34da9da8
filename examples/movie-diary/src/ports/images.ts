/** Works on what it is given, and on nothing else. */
export interface Images {
  /** @returns WebP of that width. @throws UnreadableImage */
  thumbnail(original: Uint8Array, width: number): Promise<Buffer>;
}
