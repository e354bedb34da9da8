import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';
import { id, year } from './fields';

const wrapUp = { wrapUpId: id, userId: id, year };

export const WrapUpRequested = defineEvent('WrapUpRequested', { aggregateType: 'wrap-up', schema: z.object(wrapUp) });
export const WrapUpCompleted = defineEvent('WrapUpCompleted', {
  aggregateType: 'wrap-up',
  schema: z.object({ ...wrapUp, reviews: z.int().nonnegative() }),
});
