import { entriesOf, type Entry } from '../entries';
import { TRANSACTIONAL } from '../expected';
import type { History, Rule } from '../history';

/**
 * No handler runs twice at the same time for one event. Two exceptions: a process that stood still for longer than its
 * lease can be, since its signal could not fire; and the claim of a transactional handler may go down with PostgreSQL,
 * where only its effect counts.
 */
export const together: Rule = (history) =>
  [...entriesOf(history).values()].flatMap((entries) =>
    entries.flatMap((entry, index) => {
      const before = entries.slice(0, index).find(({ to }) => to > entry.from);
      if (!before || excused(before, entry, history)) return [];
      const { eventId, handler } = entry;
      const text = `${handler} was entered in process ${entry.pid} while it ran in ${before.pid}`;
      return [{ rule: 'together', eventId, text }];
    }),
  );

function excused(before: Entry, after: Entry, { rules, standstills, outages }: History): boolean {
  // The last renewal may be this old when a process stops.
  const leastMs = rules.ledgerLeaseMs - rules.ledgerRenewMs - TOLERANCE_MS;
  const still = standstills.some(
    ({ pid, from, to }) => pid === before.pid && to - from >= leastMs && from < after.from && to > before.from,
  );
  if (still) return true;
  return (
    TRANSACTIONAL.has(before.handler) &&
    outages.some(({ server, from, to }) => server === 'postgres' && from < after.from && to > before.from)
  );
}

/** How late the process may notice that it stood still. */
const TOLERANCE_MS = 500;
