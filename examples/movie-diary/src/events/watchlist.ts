import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';
import { filmNumber, filmTitle, id, version } from './fields';

const entry = z.object({ userId: id, filmId: id, number: filmNumber, title: filmTitle, version });

export const WatchlistEntryAdded = defineEvent('WatchlistEntryAdded', { aggregateType: 'watchlist', schema: entry });
export const WatchlistEntryRemoved = defineEvent('WatchlistEntryRemoved', {
  aggregateType: 'watchlist',
  schema: entry,
});
