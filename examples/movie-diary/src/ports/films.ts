import type { NewEvent } from 'temporal-outbox/producer';
import type { Film, FilmProfile, Person } from '../domain/film';

export interface FilmWithProfile extends Film {
  readonly profile: FilmProfile | undefined;
  readonly hasPoster: boolean;
}

export interface Films {
  find(id: string): Promise<FilmWithProfile | undefined>;
  /** @returns false when it is known; then no event is written */
  discover(film: Film, events: readonly NewEvent[]): Promise<boolean>;
  /** Writes the wish alone. @returns false when there is no such film */
  requestEnrichment(filmId: string, events: readonly NewEvent[]): Promise<boolean>;
  /**
   * The last step of an enrichment: the profile, the intent to have its poster, and the events of what is new in it. A
   * film that is gone, or a profile that says the same already, is left alone, without events.
   */
  saveProfile(
    profile: FilmProfile,
    events: { readonly enriched: readonly NewEvent[]; readonly posterRequested: readonly NewEvent[] },
  ): Promise<void>;
}

export interface PersonProfile {
  readonly personId: string;
  /** That the provider knows. */
  readonly films: number;
}

export interface People {
  find(id: string): Promise<(Person & { readonly profile: PersonProfile | undefined }) | undefined>;
  /** @returns false when it is known; then no event is written */
  discover(person: Person, events: readonly NewEvent[]): Promise<boolean>;
  requestEnrichment(personId: string, events: readonly NewEvent[]): Promise<boolean>;
  /** A profile that says the same already is left alone, without events. */
  saveProfile(profile: PersonProfile, events: readonly NewEvent[]): Promise<void>;
}
