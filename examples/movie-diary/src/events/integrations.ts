import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';
import { id, source } from './fields';

/** A media server reported that a user has watched a film. */
export const WatchEventReceived = defineEvent('WatchEventReceived', {
  aggregateType: 'watch-event',
  schema: z.object({ watchEventId: id, userId: id, filmId: id, source, watchedAt: z.iso.datetime() }),
});
/** A diary came in from a file; each review of it has an event of its own too. */
export const DiaryImported = defineEvent('DiaryImported', {
  aggregateType: 'diary-import',
  schema: z.object({ importId: id, userId: id, imported: z.int().nonnegative(), refused: z.int().nonnegative() }),
});
