import { commitTimes, KNOWN_WITHIN_MS } from '../commitTimes';
import { entriesOf } from '../entries';
import type { Rule } from '../history';
import { whyRepeated } from '../repeats';
import { anyLoss } from '../troubles';
import { waitsOf } from '../waits';

/** Of what two clocks of one machine may differ by. Later than the schedule is no fault: servers were down. */
const EARLY_MS = 100;

/**
 * Attempt n + 1 never begins before the backoff of attempt n is over, and none goes beyond the budget. A number that
 * comes again needs a reason (`repeats.ts`), and one that is left out a worker that was lost with the attempt.
 */
export const schedule: Rule = (history) => [...early(history), ...numbered(history)];

const early: Rule = (history) =>
  waitsOf(history).flatMap(({ before, entry: { eventId, handler, attempt }, waitedMs, leastMs }) => {
    if (leastMs === 0 || waitedMs >= leastMs - EARLY_MS) return [];
    const after = before.ended === 'failed' ? 'a failure' : `one that ${ENDED[before.ended]}`;
    const text = `${handler}: attempt ${attempt} came ${Math.round(waitedMs)} ms after ${after}, not ${Math.round(leastMs)}`;
    return [{ rule: 'schedule', eventId, text }];
  });

const ENDED = { end: 'came to its end', failed: 'failed', cut: 'was told to end', died: 'died', nothing: 'went on' };

const numbered: Rule = (history) => {
  const committed = commitTimes(history);
  return [...entriesOf(history).values()].flatMap((entries) =>
    entries.flatMap((entry, index) => {
      const { eventId, handler, attempt, from } = entry;
      const before = entries[index - 1];
      const last = before?.attempt ?? 0;
      const problems: string[] = [];
      if (attempt > history.rules.maxAttempts) problems.push(`attempt ${attempt} of ${history.rules.maxAttempts}`);
      if (before && attempt <= last && whyRepeated(before, entry, history) === undefined)
        problems.push(`attempt ${attempt} came again after attempt ${last}, and nothing had given it back`);
      // Nobody can have lost it before it was there.
      const since = before
        ? before.from - history.rules.ledgerLeaseMs
        : (committed.get(eventId) ?? -Infinity) - KNOWN_WITHIN_MS;
      if (attempt > last + 1 && !anyLoss(history, { from: since, to: from }))
        problems.push(`attempt ${attempt} came after attempt ${last}, and no worker was lost in between`);
      return problems.map((text) => ({ rule: 'schedule', eventId, text: `${handler}: ${text}` }));
    }),
  );
};
