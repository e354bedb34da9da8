import type { Film, Person } from '../domain/film';

export interface Found {
  readonly kind: 'film' | 'person';
  readonly id: string;
  readonly title: string;
}

/** Keyed by kind and id, and made to agree with what is stored, so any order and any number of calls ends the same. */
export interface SearchIndex {
  /** A film that is gone is left out. */
  putFilm(film: Pick<Film, 'id'>): Promise<void>;
  putPerson(person: Pick<Person, 'id'>): Promise<void>;
  /** A film that is there again stays. */
  removeFilm(film: Pick<Film, 'id'>): Promise<void>;
  /** The best first. */
  find(words: string, limit: number): Promise<Found[]>;
}
