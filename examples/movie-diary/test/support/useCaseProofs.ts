import { randomUUID } from 'node:crypto';
import type { Repositories } from '../../src/adapters/postgres/repositories';
import { personOf } from '../../src/domain/film';
import { wrapUpId } from '../../src/domain/wrapUp';
import { addToWatchlist } from '../../src/useCases/addToWatchlist';
import { changeProfile } from '../../src/useCases/changeProfile';
import { completeWrapUp } from '../../src/useCases/completeWrapUp';
import { deleteReview } from '../../src/useCases/deleteReview';
import { discoverFilm } from '../../src/useCases/discoverFilm';
import { editReview } from '../../src/useCases/editReview';
import { importDiary } from '../../src/useCases/importDiary';
import { logReview } from '../../src/useCases/logReview';
import { moveAccount } from '../../src/useCases/moveAccount';
import { receiveWatchEvent } from '../../src/useCases/receiveWatchEvent';
import { registerUser } from '../../src/useCases/registerUser';
import { removeFromWatchlist } from '../../src/useCases/removeFromWatchlist';
import { requestFilmEnrichment } from '../../src/useCases/requestFilmEnrichment';
import { requestPersonEnrichment } from '../../src/useCases/requestPersonEnrichment';
import { requestWrapUp } from '../../src/useCases/requestWrapUp';
import { FEDERATION_PROOFS } from './federationProofs';
import { FILM_PROOFS } from './filmProofs';
import { newUser } from './newUser';
import type { Proof } from './proveAtomic';

let films = 0;

/** A film that nobody has seen yet. */
export function newFilm() {
  films += 1;
  return { number: films, title: `Film ${films}` };
}

async function newReview(stored: Repositories) {
  const { id: userId } = await newUser(stored);
  const film = newFilm();
  const review = { reviewId: randomUUID(), userId, film, rating: 7, comment: 'Fine', watchedOn: '2024-02-01' };
  await logReview(stored.reviews, review);
  return review;
}

/** Keyed by the file of the use case. */
export const PROOFS: Readonly<Record<string, readonly Proof[]>> = {
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
  logReview: [
    {
      name: 'log the first review of a film',
      tables: ['films', 'reviews'],
      events: ['MovieDiscovered', 'ReviewLogged'],
      prepare: async (stored) => {
        const { id: userId } = await newUser(stored);
        const film = newFilm();
        const review = { reviewId: randomUUID(), userId, film, rating: 7, comment: null, watchedOn: '2024-02-01' };
        return ({ reviews }) => logReview(reviews, review);
      },
    },
  ],
  editReview: [
    {
      name: 'edit a review',
      tables: ['reviews'],
      events: ['ReviewEdited'],
      prepare: async (stored) => {
        const { reviewId, userId } = await newReview(stored);
        return ({ reviews }) => editReview(reviews, { reviewId, userId, edit: { rating: 9 } });
      },
    },
  ],
  deleteReview: [
    {
      name: 'delete the last review of a film',
      tables: ['deleted_reviews', 'films', 'reviews'],
      events: ['MovieDeleted', 'ReviewDeleted'],
      prepare: async (stored) => {
        const { reviewId, userId } = await newReview(stored);
        return (over) => deleteReview(over, { reviewId, userId });
      },
    },
    {
      name: 'delete one review of several',
      tables: ['deleted_reviews', 'reviews'],
      events: ['ReviewDeleted'],
      prepare: async (stored) => {
        const review = await newReview(stored);
        await logReview(stored.reviews, { ...review, reviewId: randomUUID() });
        return (over) => deleteReview(over, review);
      },
    },
  ],
  addToWatchlist: [
    {
      name: 'put a new film on the watchlist',
      tables: ['films', 'watchlist_entries'],
      events: ['MovieDiscovered', 'WatchlistEntryAdded'],
      prepare: async (stored) => {
        const { id: userId } = await newUser(stored);
        const film = newFilm();
        return ({ watchlist }) => addToWatchlist(watchlist, { userId, film });
      },
    },
  ],
  removeFromWatchlist: [
    {
      name: 'take a film off the watchlist',
      tables: ['watchlist_entries'],
      events: ['WatchlistEntryRemoved'],
      prepare: async (stored) => {
        const { id: userId } = await newUser(stored);
        const film = newFilm();
        await addToWatchlist(stored.watchlist, { userId, film });
        return ({ watchlist }) => removeFromWatchlist(watchlist, { userId, filmNumber: film.number });
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
  receiveWatchEvent: [
    {
      name: "receive a media server's event",
      tables: ['films', 'watch_events'],
      events: ['MovieDiscovered', 'WatchEventReceived'],
      prepare: async (stored) => {
        const { id: userId } = await newUser(stored);
        const event = { source: 'jellyfin', externalId: '1', film: newFilm(), watchedAt: '2024-02-01T20:15:00Z' };
        return ({ watchEvents }) => receiveWatchEvent(watchEvents, { userId, ...event });
      },
    },
  ],
  importDiary: [
    {
      name: 'import a diary of two films, one of them known',
      tables: ['diary_imports', 'films', 'reviews'],
      events: ['DiaryImported', 'MovieDiscovered', 'ReviewLogged', 'ReviewLogged'],
      prepare: async (stored) => {
        const { film: known, userId } = await newReview(stored);
        const rows = [known, newFilm()].map((film, index) => ({
          ...{ line: index + 2, film, rating: 7, comment: null, watchedOn: '2024-02-01' },
        }));
        const file = { sha256: 'of the file', rows, refused: [{ line: 4, reason: 'a reason' }] };
        const importId = randomUUID();
        return ({ diaryImports }) => importDiary(diaryImports, { importId, userId, file });
      },
    },
  ],
};
