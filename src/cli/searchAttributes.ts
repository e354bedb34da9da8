import { note } from './output';
import { deadlineIn } from '../temporal/deadline';

/** A deployment step waits for it; the first worker registers them as well. */
const CONNECT_TIMEOUT_MS = 2_000;
const ANSWER_TIMEOUT_MS = 10_000;

export type AttributesResult =
  | { readonly kind: 'there' | 'registered' }
  | { readonly kind: 'refused'; readonly reason: string; readonly commands: readonly string[] }
  | { readonly kind: 'temporal-away'; readonly reason: string };

/** Registers the search attributes in the namespace of the TEMPORAL_… variables, in bounded time. Never rejects. */
export async function registerAttributes(): Promise<AttributesResult> {
  // Loaded here, since it takes most of a second.
  const { connectClient } = await import('../temporal/client.js');
  const { registerCommands, registerSearchAttributes } = await import('../temporal/searchAttributes.js');
  let temporal;
  try {
    temporal = await connectClient({ connectTimeoutMs: CONNECT_TIMEOUT_MS });
  } catch (error) {
    return { kind: 'temporal-away', reason: (error as Error).message };
  }
  const { client, namespace } = temporal;
  try {
    const registration = await client.withDeadline(deadlineIn(ANSWER_TIMEOUT_MS), () =>
      registerSearchAttributes(client.connection.operatorService, namespace),
    );
    if (registration.kind !== 'refused') return registration;
    const { ownServer, cloud } = registerCommands(namespace);
    return { ...registration, commands: [...ownServer, `${cloud}   # Temporal Cloud`] };
  } finally {
    await temporal.close();
  }
}

/** Nothing when they were there. */
export function tellRegistration(result: AttributesResult): void {
  if (result.kind === 'registered') note('The search attributes of delivery runs are registered in Temporal.');
  if (result.kind === 'temporal-away')
    note(`The search attributes of delivery runs were not registered; a worker does it at its start. ${result.reason}`);
  if (result.kind === 'refused')
    note(
      [
        `Temporal did not let the search attributes of delivery runs be registered (${result.reason}).`,
        'Everything works without them but the filters of its lists. To have those, once in the namespace:',
        ...result.commands.map((command) => `  ${command}`),
      ].join('\n'),
    );
}
