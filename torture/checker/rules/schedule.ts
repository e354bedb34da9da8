import { entriesOf, type Entry } from '../entries';
import type { History, Rule } from '../history';

/** Of what two clocks of one machine may differ by. Later than the schedule is no fault: servers were down. */
const EARLY_MS = 100;

/**
 * Attempt n + 1 never begins before the backoff of attempt n is over, and none goes beyond the budget. An attempt with
 * the same number or a lower one is no retry: its transaction was run again without another's failure, its worker had to
 * stop, or an operator handed the event back with a fresh budget.
 */
export const schedule: Rule = (history) => {
  const { maxAttempts } = history.rules;
  return [...entriesOf(history).values()].flatMap((entries) =>
    entries.flatMap((entry, index) => {
      const { eventId, handler, attempt } = entry;
      const told = (text: string) => ({ rule: 'schedule', eventId, text: `${handler}: ${text}` });
      const before = entries[index - 1];
      const problems = attempt > maxAttempts ? [told(`attempt ${attempt} of ${maxAttempts}`)] : [];
      if (before?.ended !== 'failed' || attempt <= before.attempt) return problems;
      const waited = entry.from - heardOf(before, entry, history);
      const least = leastWait(before, entry, history);
      if (waited < least - EARLY_MS)
        problems.push(told(`attempt ${attempt} came ${Math.round(waited)} ms after a failure, not ${least}`));
      return problems;
    }),
  );
};

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
 * Who could not write its failure down, as it died or stood still, is told from a lost worker by nobody: the backoff then
 * counts from its last sign of life, which may be as old as a renewal. Of one that could not reach PostgreSQL that may be
 * any time ago.
 */
function leastWait(before: Entry, entry: Entry, { rules, deaths, standstills, outages }: History): number {
  const { backoffFirstMs, backoffMaxMs, ledgerLeaseMs, ledgerRenewMs } = rules;
  const since = before.to - ledgerLeaseMs;
  const between = ({ from, to }: { from: number; to: number }) => from < entry.from && to > since;
  if (outages.some((outage) => outage.server.startsWith('postgres') && between(outage))) return 0;
  const backoff = Math.min(backoffFirstMs * 2 ** (before.attempt - 1), backoffMaxMs);
  const died = deaths.get(before.pid) ?? Infinity;
  const unheard = died < entry.from || standstills.some((still) => still.pid === before.pid && between(still));
  return unheard ? backoff - ledgerRenewMs : backoff;
}
