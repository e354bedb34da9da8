import { v5 } from 'uuid';

/** Of all ids that this application derives. Any fixed UUID does; it must never change. */
export const NAMESPACE = '5d9f1f9e-2b53-5f0c-9a35-0d2f4c0f7a11';

export interface Film {
  readonly id: string;
  /** The metadata provider's. */
  readonly number: number;
  readonly title: string;
}

/** The same film is the same id on every instance, and again after it was deleted. */
export function filmOf(number: number, title: string): Film {
  return { id: v5(`film ${number}`, NAMESPACE), number, title };
}

export interface FilmProfile {
  readonly filmId: string;
  readonly releasedOn: string | null;
  readonly genre: string | null;
  readonly distributor: string | null;
  readonly director: Person | null;
  readonly posterUrl: string | null;
}

export interface Person {
  readonly id: string;
  readonly name: string;
}

export function personOf(name: string): Person {
  return { id: v5(`person ${name}`, NAMESPACE), name };
}
