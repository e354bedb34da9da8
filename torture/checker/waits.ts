import { entriesOf, type Entry } from './entries';
import type { History } from './history';
import { covered, enteredLate, meets, muteSpans } from './troubles';

/** A handling that was entered with a higher number than before, and how long that had to take. */
export interface Wait {
  readonly before: Entry;
  readonly entry: Entry;
  readonly waitedMs: number;
  /** 0: it cannot be judged. */
  readonly leastMs: number;
  /** The whole backoff had to pass. */
  readonly whole: boolean;
}

/** Within this a healthy process has written down how an attempt ended, on a busy machine too. */
const WRITTEN_WITHIN_MS = 2_000;
/** Renewals are looked after four times in their interval; the rest is for a machine that is late. */
const RENEWALS = 1.5;
const LATE_MS = 500;
/** A claim that was lost to its lease, as the product words it for the handler. */
const LEASE_LOST = /lease could not be renewed|took its ledger claim over/;

export function waitsOf(history: History): Wait[] {
  return [...entriesOf(history).values()].flatMap((entries) =>
    entries.flatMap((entry, index) => {
      const before = entries[index - 1];
      return before && entry.attempt > before.attempt ? [waitOf(before, entry, history)] : [];
    }),
  );
}

function waitOf(before: Entry, entry: Entry, history: History): Wait {
  const { backoffFirstMs, backoffMaxMs } = history.rules;
  const backoff = Math.min(backoffFirstMs * 2 ** (before.attempt - 1), backoffMaxMs);
  const heard = heardOf(before, entry, history);
  // Of one that had lost its claim before it began, the attempt was spent long ago.
  const isKnown = Number.isFinite(heard) && !enteredLate(history, before);
  const leastMs = isKnown ? leastWait({ ...before, to: heard }, entry, history, backoff) : 0;
  return { before, entry, waitedMs: entry.from - heard, leastMs, whole: leastMs >= backoff };
}

/**
 * When its worker was last heard of. One that stood still beyond its lease was taken for lost, and the next attempt, if it
 * began before this one went on to fail, was due by the time of that.
 */
function heardOf(before: Entry, entry: Entry, { standstills }: History): number {
  if (entry.from >= before.to) return before.to;
  const still = standstills.find(({ pid, from, to }) => pid === before.pid && from < entry.from && to > before.from);
  return still ? Math.max(before.from, still.from) : before.to;
}

/**
 * Whoever wrote its failure down waits the whole backoff from then. Who could not is told from a lost worker by nobody:
 * what was claimed is over with its lease, and the backoff counts from the last renewal, which is as old as the renewals
 * are apart and as the process had no way to write.
 */
function leastWait(before: Entry, entry: Entry, history: History, backoff: number): number {
  const { ledgerLeaseMs, ledgerRenewMs } = history.rules;
  const mute = muteSpans(history, before.pid);
  const death = history.deaths.get(before.pid);
  const claimed = Math.min(before.from, before.to - ledgerLeaseMs);
  const silent = RENEWALS * ledgerRenewMs + LATE_MS + covered(mute, { from: claimed, to: before.to });
  if (before.ended === 'died') {
    const least = death?.killed ? Math.max(backoff, ledgerLeaseMs) : backoff;
    return Math.max(0, least - silent);
  }
  if (before.ended === 'cut' && LEASE_LOST.test(before.reason ?? '')) return Math.max(0, backoff - ledgerLeaseMs);
  // Trouble that was over before it was entered took no claim away: one that is lost by then is not entered.
  // What came to its end may be rolled back for another's sake, and wait for its turn in a worker that is lost meanwhile.
  const until = before.ended === 'end' ? entry.from : before.to + WRITTEN_WITHIN_MS;
  const unwritten =
    (death !== undefined && death.at < until) || mute.some((span) => meets(span, { from: before.from, to: until }));
  // The stop of a worker spends no attempt, so that one was spent means that it was lost.
  if (unwritten || before.ended === 'cut') return Math.max(0, backoff - silent);
  return backoff;
}
