import { PersonEnriched } from '../events/people';
import type { People } from '../ports/films';
import type { MetadataProvider } from '../ports/metadata';

/**
 * Asks the provider about a person. One that is unknown, here or there, is left as it is.
 *
 * @param again ask although there is a profile
 */
export async function enrichPerson(
  { people, metadata }: { readonly people: People; readonly metadata: MetadataProvider },
  { personId, again }: { readonly personId: string; readonly again: boolean },
  signal: AbortSignal,
): Promise<void> {
  const person = await people.find(personId);
  if (!person || (person.profile && !again)) return;
  const found = await metadata.person(person.name, signal);
  if (!found) return;
  const event = PersonEnriched.event({ aggregateId: personId, payload: { personId } });
  await people.saveProfile({ personId, films: found.films }, [event]);
}
