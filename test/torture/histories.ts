import { check } from '../../torture/checker/check';
import type { Death, DeliveryRow, HandlerLine, History, OperatorLine, Outage } from '../../torture/checker/history';

/** Two events that went as they should, in a build with a schedule of 500 ms doubling up to 3 s, and leases of 5 s. */
export const PLACED = '00000000-0000-4000-8000-000000000001';
export const DOOMED = '00000000-0000-4000-8000-000000000002';
/** Its transaction was rolled back. */
export const ROLLED_BACK = '00000000-0000-4000-8000-00000000000f';

const FIRST = 101;
const SECOND = 102;

const dead = (handler: string): DeliveryRow => ({ ...key(DOOMED, handler), state: 'dead', attempts: 2, reason: 'no' });

export function goodHistory(over: Partial<History> = {}): History {
  return {
    rules: {
      ...{ backend: 'nats', maxAttempts: 2, backoffFirstMs: 500, backoffMaxMs: 3_000 },
      ...{ ledgerLeaseMs: 5_000, ledgerRenewMs: 1_500 },
    },
    business: [
      { eventId: PLACED, type: 'Placed', producer: 'producer-1', cause: null },
      { eventId: DOOMED, type: 'Doomed', producer: 'producer-1', cause: null },
    ],
    queue: [
      { eventId: PLACED, type: 'Placed', status: 'done', attempts: 0, reason: null },
      { eventId: DOOMED, type: 'Doomed', status: 'done', attempts: 0, reason: null },
    ],
    ledger: [
      { ...key(PLACED, 'book'), status: 'done' },
      { ...key(PLACED, 'tell'), status: 'done' },
    ],
    deliveries: [dead('book'), dead('tell')],
    effects: [{ ...key(PLACED, 'book'), attempt: 1 }],
    stream: [
      { eventId: PLACED, sequence: 1, at: 1_050 },
      { eventId: DOOMED, sequence: 2, at: 1_051 },
    ],
    unacknowledged: 0,
    removed: [],
    runs: [],
    operators: [],
    producers: [
      { kind: 'acknowledged', ids: [PLACED, DOOMED], at: 1_000 },
      { kind: 'rolled back', ids: [ROLLED_BACK], at: 1_010 },
    ],
    handlers: [
      ...entry(PLACED, 'book', 1, FIRST, 1_100, 1_120, 'end'),
      ...entry(PLACED, 'tell', 1, FIRST, 1_100, 1_120, 'end'),
      ...['book', 'tell'].flatMap((handler) => [
        ...entry(DOOMED, handler, 1, FIRST, 1_100, 1_200, 'failed'),
        ...entry(DOOMED, handler, 2, SECOND, 1_710, 1_800, 'failed'),
      ]),
    ],
    deaths: new Map(),
    names: new Map([FIRST, SECOND, 103].map((pid, index) => [pid, `worker-${index + 1}`])),
    standstills: [],
    outages: [],
    ...over,
  };
}

export function key(eventId: string, handler: string) {
  return { eventId, handler };
}

/** A command that an operator gave, and that was carried out. */
export function command(
  verb: OperatorLine['verb'],
  from: number,
  to: number,
  over: Partial<OperatorLine> = {},
): OperatorLine {
  return { verb, args: [verb], from, to, code: 0, ...over };
}

/** Processes that were killed; one that ended in good order says so. */
export function deaths(...given: readonly [pid: number, at: number, killed?: boolean][]): ReadonlyMap<number, Death> {
  return new Map(given.map(([pid, at, killed = true]) => [pid, { at, killed }]));
}

/** With another ending of the same entries: told to end, or for another reason than its own. */
export function because(reason: string, lines: readonly HandlerLine[], aborted = false): HandlerLine[] {
  return lines.map((line) => (line.kind === 'failed' ? { ...line, reason, ...(aborted && { aborted }) } : line));
}

let runs = 0;

/** An entry into a handler; without an end it is cut off. */
export function entry(
  eventId: string,
  handler: string,
  attempt: number,
  pid: number,
  from: number,
  to?: number,
  ended?: 'end' | 'failed',
): HandlerLine[] {
  const common = { run: `run ${++runs}`, eventId, handler, attempt, pid };
  const reason = ended === 'failed' && { reason: 'it is to fail for ever' };
  return [
    { ...common, kind: 'begin', at: from },
    ...(to !== undefined && ended ? [{ ...common, kind: ended, at: to, ...reason }] : []),
  ];
}

export const good = goodHistory();

/** What the checker says of the good history with these in their place. */
export function told(over: Partial<History>): string[] {
  return check(goodHistory(over)).map(({ rule, text }) => `${rule}: ${text}`);
}

export function without<T extends { readonly eventId: string }>(rows: readonly T[], eventId: string): T[] {
  return rows.filter((row) => row.eventId !== eventId);
}

/** Every handler line of the good history, but for one handler of the placed event; and these instead. */
export function instead(handler: string, ...lines: History['handlers'][]): Pick<History, 'handlers'> {
  const others = good.handlers.filter((line) => line.eventId !== PLACED || line.handler !== handler);
  return { handlers: [...others, ...lines.flat()].sort((a, b) => a.at - b.at) };
}

/** Only the placed event, of whose handler these are the entries, with a schedule that is not spent at once. */
export function ofPlaced(handler: string, ...lines: History['handlers'][]): Partial<History> {
  return {
    rules: { ...good.rules, maxAttempts: 9, backoffFirstMs: 8_000, backoffMaxMs: 60_000 },
    ...{ business: without(good.business, DOOMED), queue: without(good.queue, DOOMED) },
    ...{ deliveries: [], stream: without(good.stream, DOOMED) },
    producers: [{ kind: 'acknowledged', ids: [PLACED], at: 1_000 }],
    handlers: without(instead(handler, ...lines).handlers, DOOMED),
  };
}

/** Of PostgreSQL. @param of one worker that felt it; else all did */
export function outage(kind: Outage['kind'], from: number, to: number, of?: string): Outage {
  return { server: 'postgres', kind, from, to, of };
}
