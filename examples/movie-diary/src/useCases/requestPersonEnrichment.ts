import { Refusal } from '../domain/refusal';
import { PersonEnrichmentRequested } from '../events/people';
import type { People } from '../ports/films';

/** @throws Refusal */
export async function requestPersonEnrichment(people: People, personId: string): Promise<void> {
  const person = await people.find(personId);
  const event =
    person && PersonEnrichmentRequested.event({ aggregateId: personId, payload: { personId, name: person.name } });
  if (!event || !(await people.requestEnrichment(personId, [event])))
    throw new Refusal('not found', `There is no person ${personId}`);
}
