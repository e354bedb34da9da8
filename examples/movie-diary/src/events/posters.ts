import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';
import { id, uri } from './fields';

/** The intent, written in the transaction of the row that remembers it. */
export const PosterRequested = defineEvent('PosterRequested', {
  aggregateType: 'movie',
  schema: z.object({ filmId: id, url: uri }),
});
/** An original lies in the object store under this key. */
export const ImageStored = defineEvent('ImageStored', {
  aggregateType: 'movie',
  schema: z.object({ filmId: id, key: z.string(), sha256: z.hex().length(64) }),
});
/** The film has its poster. */
export const PosterSynced = defineEvent('PosterSynced', {
  aggregateType: 'movie',
  schema: z.object({ filmId: id, key: z.string() }),
});
