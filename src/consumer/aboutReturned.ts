import type { HandlingOutcome, IncomingEvent } from '../handlers/incoming';
import type { Exhausted } from './exhausted';

export type Returned = Extract<HandlingOutcome, { kind: 'returned' }>;

/**
 * What stands on the lines about an event that comes back: one for each handler without an outcome. An event that was
 * handed to none has one for each that takes it, and a single one when nobody can say who does.
 */
export function aboutReturned(
  { eventId, eventType }: IncomingEvent,
  { handlers }: Returned,
  attempt: number,
  { handlersFor }: { readonly handlersFor?: (type: string) => readonly string[] },
): Omit<Exhausted, 'reason'>[] {
  const about = { eventId, eventType, attempt };
  const names = handlers ?? handlersFor?.(eventType) ?? [];
  return names.length > 0 ? names.map((handler) => ({ ...about, handler })) : [about];
}
