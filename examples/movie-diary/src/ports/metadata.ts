/** A film as the provider describes it. */
export interface FilmRecord {
  /** YYYY-MM-DD. */
  readonly releasedOn: string | null;
  readonly genre: string | null;
  readonly distributor: string | null;
  readonly director: string | null;
  readonly posterUrl: string | null;
}

export interface PersonRecord {
  /** How many the provider knows. */
  readonly films: number;
}

export interface ImageRecord {
  /** A media type, `image/…`. */
  readonly contentType: string;
  readonly body: Uint8Array;
}

/**
 * Reads only, so any call may be made again. Undefined: the provider answered that it knows no such thing.
 *
 * @throws Error when it does not answer, or with something that is none of its answers
 */
export interface MetadataProvider {
  film(number: number, signal: AbortSignal): Promise<FilmRecord | undefined>;
  person(name: string, signal: AbortSignal): Promise<PersonRecord | undefined>;
  /** @param url as a film's record names it */
  image(url: string, signal: AbortSignal): Promise<ImageRecord | undefined>;
}
