import type { NewEvent } from 'temporal-outbox/producer';
import type { Film, FilmProfile, Person } from '../domain/film';

export interface FilmWithProfile extends Film {
  /** With the time of the provider's latest answer. */
  readonly profile: (FilmProfile & { readonly enrichedAt: string }) | undefined;
  readonly hasPoster: boolean;
}

export interface Films {
  find(id: string): Promise<FilmWithProfile | undefined>;
  /** @returns the film as it is stored; a known one keeps its title, and no event is written */
  discover(film: Film, events: readonly NewEvent[]): Promise<{ readonly film: Film; readonly isNew: boolean }>;
  /** Writes the wish alone. @returns false when there is no such film */
  requestEnrichment(filmId: string, events: readonly NewEvent[]): Promise<boolean>;
  /**
   * The last step of an enrichment: the profile, the intent to have its poster or none, and the events of what is new in
   * it. A film that is gone, or a profile that says the same already, is left alone, without events.
   *
   * @param askedSince `enrichedAt` of the profile that was there before the provider was asked; undefined for none
   * @returns false when another answer has come in since, which may be the newer one; then nothing is written
   */
  saveProfile(
    profile: FilmProfile,
    askedSince: string | undefined,
    events: { readonly enriched: readonly NewEvent[]; readonly posterRequested: readonly NewEvent[] },
  ): Promise<boolean>;
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
