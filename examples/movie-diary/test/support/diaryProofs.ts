import { randomUUID } from 'node:crypto';
import { addToWatchlist } from '../../src/useCases/addToWatchlist';
import { deleteReview } from '../../src/useCases/deleteReview';
import { editReview } from '../../src/useCases/editReview';
import { importDiary } from '../../src/useCases/importDiary';
import { logReview } from '../../src/useCases/logReview';
import { receiveWatchEvent } from '../../src/useCases/receiveWatchEvent';
import { removeFromWatchlist } from '../../src/useCases/removeFromWatchlist';
import { newFilm, newReview } from './newReview';
import { newUser } from './newUser';
import type { Proof } from './proveAtomic';

/** Reviews, watchlists and what integrations bring, keyed by the file of the use case. */
export const DIARY_PROOFS: Readonly<Record<string, readonly Proof[]>> = {
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
