import { readFilms, type DataFilm } from './films';

/** A film as the metadata provider describes it, but for the URL of its poster. */
export interface CatalogueFilm {
  readonly title: string;
  readonly releasedOn: string | null;
  readonly genre: string | null;
  readonly distributor: string | null;
  readonly director: string | null;
  readonly imdbRating: number | null;
  readonly imdbVotes: number | null;
}

export interface Catalogue {
  film(number: number): CatalogueFilm | undefined;
  /** How many films a director made; undefined for a name that nobody has. */
  filmsBy(director: string): number | undefined;
}

/** A film without a title is unknown: nobody could have asked for it. */
export function catalogue(all: readonly DataFilm[] = readFilms()): Catalogue {
  const films = new Map<number, CatalogueFilm>();
  const byDirector = new Map<string, number>();
  for (const { number, title, releasedOn, imdb, record } of all) {
    if (title === null) continue;
    const director = textOf(record.Director);
    films.set(number, {
      ...{ title, releasedOn, director },
      genre: textOf(record['Major Genre']),
      distributor: textOf(record.Distributor),
      imdbRating: imdb?.rating ?? null,
      imdbVotes: imdb?.votes ?? null,
    });
    if (director !== null) byDirector.set(director, (byDirector.get(director) ?? 0) + 1);
  }
  return { film: (number) => films.get(number), filmsBy: (director) => byDirector.get(director) };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
