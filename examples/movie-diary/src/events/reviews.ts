import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';
import { comment, date, id, rating, version } from './fields';

const reference = { reviewId: id, userId: id, filmId: id, version };
const content = { ...reference, rating, comment, watchedOn: date };

export const ReviewLogged = defineEvent('ReviewLogged', { aggregateType: 'review', schema: z.object(content) });
export const ReviewEdited = defineEvent('ReviewEdited', { aggregateType: 'review', schema: z.object(content) });
/** Its version is the one after the last that the review had. */
export const ReviewDeleted = defineEvent('ReviewDeleted', { aggregateType: 'review', schema: z.object(reference) });
