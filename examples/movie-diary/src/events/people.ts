import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';
import { id, personName } from './fields';

const person = z.object({ personId: id, name: personName });

export const PersonDiscovered = defineEvent('PersonDiscovered', { aggregateType: 'person', schema: person });
export const PersonEnrichmentRequested = defineEvent('PersonEnrichmentRequested', {
  aggregateType: 'person',
  schema: person,
});
export const PersonEnriched = defineEvent('PersonEnriched', {
  aggregateType: 'person',
  schema: z.object({ personId: id }),
});
