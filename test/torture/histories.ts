import type { DeliveryRow, HandlerLine, History } from '../../torture/checker/history';

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
      { eventId: PLACED, sequence: 1 },
      { eventId: DOOMED, sequence: 2 },
    ],
    unacknowledged: 0,
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
    standstills: [],
    outages: [],
    ...over,
  };
}

export function key(eventId: string, handler: string) {
  return { eventId, handler };
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
  return [
    { ...common, kind: 'begin', at: from },
    ...(to !== undefined && ended ? [{ ...common, kind: ended, at: to }] : []),
  ];
}
