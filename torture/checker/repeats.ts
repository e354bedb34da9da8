import { handlingOf } from './byEvent';
import type { Entry } from './entries';
import { TRANSACTIONAL } from './expected';
import type { History, OperatorLine } from './history';
import { anyLoss, claimCrashed, enteredLate, meets, postgresTroubles } from './troubles';

/** How the product tells a handler that its worker stops. */
const STOPS = /the worker stops/;
/** How the handlers of a storm fail by themselves; what else they throw came from PostgreSQL. */
const OWN = /is to fail/;
/** A worker that was told to stop has ended by then, or was ended. */
const STOPS_WITHIN_MS = 60_000;
const WRITTEN_WITHIN_MS = 2_000;

/** Why a handling may be entered with the same number as before or a lower one; undefined: it may not. */
export function whyRepeated(before: Entry, entry: Entry, history: History): string | undefined {
  if (enteredLate(history, entry)) return 'its process had stood still beyond its lease before it entered the handler';
  if (history.operators.some((line) => revives(line, before, entry, history))) return 'an operator handed it back';
  if (entry.attempt < before.attempt) return undefined;
  if (wasStopped(before, history)) return 'its worker was told to stop';
  if (!TRANSACTIONAL.has(entry.handler)) return undefined;
  if (entry.attempt === 1 && claimCrashed(history, before, entry.from)) return 'PostgreSQL had crashed with its claim';
  return whyRunAgain(before, entry, history);
}

/** A re-emit revives dead letters only: the budget was spent, or somebody saw it dead, or a lost worker may have spent it. */
function revives({ verb, code, from, to, dead }: OperatorLine, before: Entry, entry: Entry, history: History): boolean {
  // One whose answer nobody waited for may be carried out later.
  const carriedOut = code === 0 ? to : Infinity;
  if (verb !== 'reemit' || from > entry.from || before.from > carriedOut) return false;
  const key = handlingOf(entry);
  return (
    before.attempt >= history.rules.maxAttempts ||
    dead?.some((letter) => handlingOf(letter) === key) !== false ||
    anyLoss(history, { from: before.from, to: entry.from })
  );
}

/** No attempt is spent by a stop; what shares its transaction with others, or is slow to end, is given back all the same. */
function wasStopped({ ended, reason, pid, to, handler }: Entry, { deaths }: History): boolean {
  const death = deaths.get(pid);
  const stopping = death !== undefined && !death.killed && death.at - to < STOPS_WITHIN_MS;
  if (ended === 'cut') return stopping || STOPS.test(reason ?? '');
  if (ended === 'died') return stopping;
  return ended === 'end' && stopping && TRANSACTIONAL.has(handler);
}

/**
 * A transaction that is rolled back for another's sake, or whose connection was lost, is run again without another
 * attempt. Its own failure counts, unless the connection went before it could be charged.
 */
function whyRunAgain(before: Entry, entry: Entry, history: History): string | undefined {
  const own = before.ended === 'failed' && OWN.test(before.reason ?? '');
  const until = own ? before.to + WRITTEN_WITHIN_MS : entry.from;
  const troubled = postgresTroubles(history, before.pid).some((span) => meets(span, { from: before.from, to: until }));
  if (troubled && before.ended !== 'died') return 'its connection to PostgreSQL was lost';
  if (own || before.pid !== entry.pid || entry.attempt !== 1) return undefined;
  return before.ended === 'end' || before.ended === 'failed' ? 'its transaction was run again' : undefined;
}
