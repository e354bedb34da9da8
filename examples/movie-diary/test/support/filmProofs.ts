import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { testEnvironment } from '../../../../test/support/environment';
import { SharpImages } from '../../src/adapters/images/sharp';
import { FileSystemObjectStore } from '../../src/adapters/objectStore/fileSystem';
import type { Repositories } from '../../src/adapters/postgres/repositories';
import { personOf } from '../../src/domain/film';
import { PersonDiscovered } from '../../src/events/people';
import type { MetadataProvider } from '../../src/ports/metadata';
import { convertPoster } from '../../src/useCases/convertPoster';
import { deleteReview } from '../../src/useCases/deleteReview';
import { enrichFilm } from '../../src/useCases/enrichFilm';
import { enrichPerson } from '../../src/useCases/enrichPerson';
import { logReview } from '../../src/useCases/logReview';
import { registerUser } from '../../src/useCases/registerUser';
import { removePoster } from '../../src/useCases/removePoster';
import { syncPoster } from '../../src/useCases/syncPoster';
import type { Proof } from './proveAtomic';

const { signal } = new AbortController();

/** It answers at once, and the same each time: the statements are what fails here. */
function provider(director: string): MetadataProvider {
  return {
    film: () =>
      Promise.resolve({
        ...{ releasedOn: '1949-09-02', genre: 'Thriller', distributor: null, director },
        posterUrl: 'https://posters.example/1.png',
      }),
    person: () => Promise.resolve({ films: 3 }),
    image: () => Promise.resolve({ contentType: 'image/png', body: Buffer.from('no image that can be read') }),
  };
}

/** A film that was reviewed once, of a director who is known, in each later stage of its life. */
class FilmLife {
  readonly director = `Director ${randomUUID()}`;
  readonly metadata = provider(this.director);
  readonly objects = new FileSystemObjectStore(join(testEnvironment().directory, randomUUID()));
  readonly images = new SharpImages();
  filmId = '';
  private review = { reviewId: randomUUID(), userId: '' };

  /** Numbers of their own, far from those of the other proofs. */
  private static number = 1_000_000;

  static async reviewed(stored: Repositories): Promise<FilmLife> {
    const life = new FilmLife();
    const name = `u${randomUUID().slice(0, 8)}`;
    const { user } = await registerUser(stored.users, { name, displayName: name });
    life.review = { ...life.review, userId: user.id };
    const film = { number: (FilmLife.number += 1), title: 'The Third Man' };
    const content = { rating: 7, comment: null, watchedOn: '2024-02-01' };
    const { review } = await logReview(stored.reviews, { ...life.review, film, ...content });
    life.filmId = review.filmId;
    await stored.people.discover(personOf(life.director), []);
    return life;
  }

  enrich(stored: Repositories): Promise<void> {
    return enrichFilm({ ...stored, metadata: this.metadata }, { filmId: this.filmId, again: false }, signal);
  }

  sync({ posters }: Repositories): Promise<void> {
    return syncPoster({ posters, metadata: this.metadata, objects: this.objects }, this.filmId, signal);
  }

  remove(stored: Repositories): Promise<void> {
    return deleteReview(stored, this.review);
  }
}

/** Keyed by the file of the use case. */
export const FILM_PROOFS: Readonly<Record<string, readonly Proof[]>> = {
  enrichFilm: [
    {
      // A transaction of its own before the film's, which finds the person there when it is run again.
      name: 'discover the director of a film',
      tables: ['people'],
      events: ['PersonDiscovered'],
      prepare: () => {
        const person = personOf(`Director ${randomUUID()}`);
        const payload = { personId: person.id, name: person.name };
        const event = PersonDiscovered.event({ aggregateId: person.id, payload });
        return Promise.resolve(({ people }) => people.discover(person, [event]));
      },
    },
    {
      name: 'enrich a film whose director is known',
      tables: ['film_profiles', 'posters'],
      events: ['MovieEnriched', 'PosterRequested'],
      prepare: async (stored) => {
        const life = await FilmLife.reviewed(stored);
        return (over) => life.enrich(over);
      },
    },
  ],
  enrichPerson: [
    {
      name: 'enrich a person',
      tables: ['person_profiles'],
      events: ['PersonEnriched'],
      prepare: async (stored) => {
        const { director, metadata } = await FilmLife.reviewed(stored);
        const person = { personId: personOf(director).id, again: false };
        return ({ people }) => enrichPerson({ people, metadata }, person, signal);
      },
    },
  ],
  syncPoster: [
    {
      name: 'store the poster of a film',
      tables: ['posters'],
      events: ['ImageStored', 'PosterSynced'],
      joins: true,
      prepare: async (stored) => {
        const life = await FilmLife.reviewed(stored);
        await life.enrich(stored);
        return (over) => life.sync(over);
      },
    },
  ],
  convertPoster: [
    {
      name: 'note that a poster cannot be read',
      tables: ['posters'],
      events: [],
      joins: true,
      prepare: async (stored) => {
        const life = await FilmLife.reviewed(stored);
        await life.enrich(stored);
        await life.sync(stored);
        return ({ posters }) => convertPoster({ ...life, posters }, life.filmId, signal);
      },
    },
  ],
  removePoster: [
    {
      name: 'forget the poster of a film that is gone',
      tables: ['posters'],
      events: [],
      joins: true,
      prepare: async (stored) => {
        const life = await FilmLife.reviewed(stored);
        await life.enrich(stored);
        await life.sync(stored);
        await life.remove(stored);
        return ({ posters }) => removePoster({ ...life, posters }, life.filmId, signal);
      },
    },
  ],
};
