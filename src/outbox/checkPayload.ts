import { checkSchema } from '../handlers/checkSchema';
import type { EventDefinition } from '../handlers/defineEvent';

/**
 * Why the payload does not fit its definition; a promise only when the validator is asynchronous, and never rejected.
 *
 * Checked is the JSON that is stored, not the value that it was made of: a handler's validator will see nothing else,
 * so a `Date` that became a text is found here and not by every handler. A validator that changes what it is given
 * cannot change what is stored either.
 */
export function checkPayload(
  { type, schema }: EventDefinition,
  json: string,
): string | undefined | Promise<string | undefined> {
  if (!schema) return undefined;
  const checked = checkSchema(schema, JSON.parse(json));
  const flawOf = (it: Awaited<typeof checked>) =>
    it.ok ? undefined : `its payload does not fit the schema of ${type}: ${it.reason}`;
  return checked instanceof Promise ? checked.then(flawOf) : flawOf(checked);
}
