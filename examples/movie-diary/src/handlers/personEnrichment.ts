import { defineHandler, type Handler } from 'temporal-outbox';
import type { Connection } from '../adapters/postgres/connection';
import { PostgresPeople } from '../adapters/postgres/people';
import { PersonDiscovered, PersonEnrichmentRequested } from '../events/people';
import type { MetadataProvider } from '../ports/metadata';
import { enrichPerson } from '../useCases/enrichPerson';

/** Safe to run again: one upsert, which writes nothing when nothing is new. */
export function personEnrichment(connection: Connection, metadata: MetadataProvider): Handler {
  const deps = { people: new PostgresPeople(connection), metadata };
  return defineHandler({
    name: 'person-enrichment',
    events: [PersonDiscovered, PersonEnrichmentRequested],
    run: ({ type, payload: { personId } }, { signal }) =>
      enrichPerson(deps, { personId, again: type === 'PersonEnrichmentRequested' }, signal),
  });
}
