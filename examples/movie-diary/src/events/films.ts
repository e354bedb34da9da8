import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';
import { filmNumber, filmTitle, id, uri } from './fields';

const film = { filmId: id, number: filmNumber, title: filmTitle };

export const MovieDiscovered = defineEvent('MovieDiscovered', { aggregateType: 'movie', schema: z.object(film) });
/** Somebody asked for it again: the provider may know more by now. */
export const MovieEnrichmentRequested = defineEvent('MovieEnrichmentRequested', {
  aggregateType: 'movie',
  schema: z.object({ filmId: id, number: filmNumber }),
});
export const MovieEnriched = defineEvent('MovieEnriched', {
  aggregateType: 'movie',
  schema: z.object({ filmId: id, directorId: id.nullable(), posterUrl: uri.nullable() }),
});
/** Nothing referred to it any more. */
export const MovieDeleted = defineEvent('MovieDeleted', {
  aggregateType: 'movie',
  schema: z.object({ filmId: id, number: filmNumber }),
});
