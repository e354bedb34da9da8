import { entriesOf, type Entry } from '../entries';
import { TRANSACTIONAL } from '../expected';
import type { History, Rule } from '../history';
import { claimCrashed, enteredLate, stoodStill } from '../troubles';

/**
 * No handler runs twice at the same time for one event. Two exceptions: a process that stood still for longer than its
 * lease can be, since its signal could not fire; and the claim of a transactional handler, which may go down with
 * PostgreSQL when that crashes. There only the effect counts.
 */
export const together: Rule = (history) =>
  [...entriesOf(history).values()].flatMap((entries) =>
    entries.flatMap((entry, index) => {
      const running = entries.slice(0, index).filter(({ to }) => to > entry.from);
      const { eventId, handler } = entry;
      return running
        .filter((before) => !isExcused(before, entry, history))
        .map(({ pid }) => {
          const text = `${handler} was entered in process ${entry.pid} while it ran in ${pid}`;
          return { rule: 'together', eventId, text };
        });
    }),
  );

function isExcused(before: Entry, after: Entry, history: History): boolean {
  return (
    stoodStill(history, before, after.from) ||
    enteredLate(history, after) ||
    (TRANSACTIONAL.has(before.handler) && claimCrashed(history, before, after.from))
  );
}
