import { DeadLetterError, UnknownHandlerError } from '../errors';

/** What the database says of an event at one moment. */
export interface Look {
  readonly row: { readonly type: string; readonly status: string; readonly reason: string | null } | null;
  /** Ledger states by handler. */
  readonly ledger: Readonly<Record<string, string>> | null;
  readonly deliveries: Readonly<
    Record<
      string,
      { readonly state: string; readonly attempts: number; readonly reason: string; readonly type: string }
    >
  > | null;
  /** Event types by recorded handler. */
  readonly recorded: Readonly<Record<string, readonly string[]>> | null;
}

/**
 * Whether an event is handled, by the handlers that are asked for.
 *
 * @returns undefined when it is; else what is open, in words
 * @throws DeadLetterError, UnknownHandlerError when no waiting will change it
 */
export function judge(eventId: string, look: Look, handler: string | undefined): string | undefined {
  const deliveries = look.deliveries ?? {};
  const type = look.row?.type ?? Object.values(deliveries)[0]?.type;
  const wanted = wantedHandlers(look, handler, type);
  const open = wanted?.filter((name) => look.ledger?.[name] !== 'done' && deliveries[name]?.state !== 'skipped');
  if (open?.length === 0) return undefined;
  for (const name of open ?? []) {
    const delivery = deliveries[name];
    if (delivery?.state === 'dead') throw new DeadLetterError(eventId, name, delivery.reason);
  }
  const byHandlers = Object.values(deliveries).some(({ state }) => state !== 'skipped');
  if (look.row?.status === 'dead_lettered' && !byHandlers) {
    throw new DeadLetterError(eventId, null, look.row.reason ?? 'no reason was recorded');
  }
  if (open === undefined) return 'no event of this id is in the outbox';
  const place = look.row ? `its row in the outbox is ${look.row.status}; ` : '';
  return `${place}open: ${open.map((name) => `${name} (${stateOf(look, name)})`).join(', ')}`;
}

/** @returns undefined while the event, and with it its type, is not known */
function wantedHandlers(look: Look, handler: string | undefined, type: string | undefined): string[] | undefined {
  const recorded = look.recorded ?? {};
  if (handler !== undefined) {
    if (look.ledger?.[handler] !== undefined || look.deliveries?.[handler] !== undefined) return [handler];
    const types = recorded[handler];
    if (!types) {
      const names = Object.keys(recorded).join(', ') || 'none';
      throw new UnknownHandlerError(
        `No handler ${handler} is recorded: start a worker that has it. Recorded: ${names}.`,
      );
    }
    if (type !== undefined && !types.includes(type)) {
      throw new UnknownHandlerError(`The handler ${handler} takes no events of type ${type}, but ${types.join(', ')}.`);
    }
    return [handler];
  }
  if (type === undefined) return undefined;
  const names = Object.keys(recorded)
    .filter((name) => recorded[name]?.includes(type))
    .sort();
  if (names.length === 0) {
    throw new UnknownHandlerError(`No handler of events of type ${type} is recorded: start a worker that has one.`);
  }
  return names;
}

function stateOf(look: Look, handler: string): string {
  if (look.ledger?.[handler] === 'in_progress') return 'running';
  const delivery = look.deliveries?.[handler];
  if (!delivery) return 'not begun';
  return `waiting after ${delivery.attempts} ${delivery.attempts === 1 ? 'attempt' : 'attempts'}: ${delivery.reason}`;
}
