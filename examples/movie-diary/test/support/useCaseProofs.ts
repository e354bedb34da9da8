import { randomUUID } from 'node:crypto';
import { personOf } from '../../src/domain/film';
import { wrapUpId } from '../../src/domain/wrapUp';
import { changeProfile } from '../../src/useCases/changeProfile';
import { completeWrapUp } from '../../src/useCases/completeWrapUp';
import { discoverFilm } from '../../src/useCases/discoverFilm';
import { moveAccount } from '../../src/useCases/moveAccount';
import { registerUser } from '../../src/useCases/registerUser';
import { requestFilmEnrichment } from '../../src/useCases/requestFilmEnrichment';
import { requestPersonEnrichment } from '../../src/useCases/requestPersonEnrichment';
import { requestWrapUp } from '../../src/useCases/requestWrapUp';
import { DIARY_PROOFS } from './diaryProofs';
import { FEDERATION_PROOFS } from './federationProofs';
import { FILM_PROOFS } from './filmProofs';
import { newFilm, newReview } from './newReview';
import { newUser } from './newUser';
import type { Proof } from './proveAtomic';

/** Keyed by the file of the use case. */
export const PROOFS: Readonly<Record<string, readonly Proof[]>> = {
  ...DIARY_PROOFS,
  ...FEDERATION_PROOFS,
  ...FILM_PROOFS,
  registerUser: [
    {
      name: 'register',
      tables: ['users'],
      events: ['UserRegistered'],
      prepare: () => {
        const name = `u${randomUUID().slice(0, 8)}`;
        return Promise.resolve(({ users }) => registerUser(users, { name, displayName: name }));
      },
    },
  ],
  changeProfile: [
    {
      name: 'change the profile',
      tables: ['users'],
      events: ['ProfileUpdated'],
      prepare: async (stored) => {
        const user = await newUser(stored);
        return ({ users }) => changeProfile(users, user, 'Another name');
      },
    },
  ],
  moveAccount: [
    {
      name: 'move the account',
      tables: ['users'],
      events: ['AccountMoved'],
      prepare: async (stored) => {
        const user = await newUser(stored);
        return ({ users }) => moveAccount(users, user, 'https://elsewhere.example/users/u');
      },
    },
  ],
  discoverFilm: [
    {
      name: 'discover a film',
      tables: ['films'],
      events: ['MovieDiscovered'],
      prepare: () => {
        const film = newFilm();
        return Promise.resolve((stored) => discoverFilm(stored.films, film));
      },
    },
  ],
  requestFilmEnrichment: [
    {
      name: 'request the enrichment of a film',
      tables: [],
      events: ['MovieEnrichmentRequested'],
      again: 'writes anew',
      prepare: async (stored) => {
        const { film } = await discoverFilm(stored.films, newFilm());
        return (over) => requestFilmEnrichment(over.films, film.id);
      },
    },
  ],
  requestPersonEnrichment: [
    {
      name: 'request the enrichment of a person',
      tables: [],
      events: ['PersonEnrichmentRequested'],
      again: 'writes anew',
      prepare: async (stored) => {
        const person = personOf('Carol Reed');
        await stored.people.discover(person, []);
        return ({ people }) => requestPersonEnrichment(people, person.id);
      },
    },
  ],
  requestWrapUp: [
    {
      name: 'request a wrap-up',
      tables: ['wrap_ups'],
      events: ['WrapUpRequested'],
      prepare: async (stored) => {
        const { id: userId } = await newUser(stored);
        return ({ wrapUps }) => requestWrapUp(wrapUps, { userId, year: 2024 });
      },
    },
  ],
  completeWrapUp: [
    {
      // That it is being generated is a state of its own, without an event, so the proof begins there.
      name: 'complete a wrap-up',
      tables: ['wrap_ups'],
      events: ['WrapUpCompleted'],
      prepare: async (stored) => {
        const { userId } = await newReview(stored);
        await requestWrapUp(stored.wrapUps, { userId, year: 2024 });
        await stored.wrapUps.begin(wrapUpId(userId, 2024));
        return ({ wrapUps }) => completeWrapUp(wrapUps, wrapUpId(userId, 2024));
      },
    },
  ],
};
