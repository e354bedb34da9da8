import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';
import { id } from './fields';

const person = z.object({ personId: id, name: z.string().min(1).max(500) });

export const PersonDiscovered = defineEvent('PersonDiscovered', { aggregateType: 'person', schema: person });
export const PersonEnrichmentRequested = defineEvent('PersonEnrichmentRequested', {
  aggregateType: 'person',
  schema: person,
});
export const PersonEnriched = defineEvent('PersonEnriched', {
  aggregateType: 'person',
  schema: z.object({ personId: id }),
});
