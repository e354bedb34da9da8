import type { Entry } from './entries';
import type { History, Outage } from './history';

/** A span on the shared clock. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A connection that broke, or a process that goes on, makes itself felt a moment later. */
const AFTERMATH_MS = 1_000;
/** How late a process may notice that it stood still. */
const TOLERANCE_MS = 500;

export function meets({ from, to }: Span, other: Span): boolean {
  return from < other.to && to > other.from;
}

/** How much of `within` the spans cover, together. */
export function covered(spans: readonly Span[], within: Span): number {
  const parts = spans
    .map(({ from, to }) => ({ from: Math.max(from, within.from), to: Math.min(to, within.to) }))
    .filter(({ from, to }) => to > from)
    .sort((a, b) => a.from - b.from);
  let total = 0;
  let end = -Infinity;
  for (const { from, to } of parts) {
    total += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return total;
}

/** Outages of PostgreSQL that this process felt, and what broke with them. */
export function postgresTroubles({ outages, names }: History, pid: number): Span[] {
  return outages
    .filter(({ server, of }) => server === 'postgres' && (of === undefined || of === names.get(pid)))
    .map(({ from, to }) => ({ from, to: to + AFTERMATH_MS }));
}

/** While these lasted the process could renew no lease and write nothing down. */
export function muteSpans(history: History, pid: number): Span[] {
  return [...history.standstills.filter((still) => still.pid === pid), ...postgresTroubles(history, pid)];
}

/**
 * A crash of PostgreSQL may take the claim of a transactional handler with it, which does not wait for the disk: the
 * event is then claimed anew while whoever had claimed it goes on. Only its effect is certain to be there once.
 */
export function claimCrashed({ outages, rules }: History, before: Entry, until: number): boolean {
  const span = { from: before.from - rules.ledgerLeaseMs, to: until };
  return outages.some((outage) => outage.server === 'postgres' && outage.kind === 'crash' && meets(outage, span));
}

/** The process stood still for longer than its lease can be, after it had entered the handler, and before `until`. */
export function stoodStill(history: History, { pid, from, to }: Entry, until: number): boolean {
  return longStandstills(history, pid).some((still) => meets(still, { from, to: Math.min(to, until) }));
}

/** It had claimed the event, stood still beyond its lease, and entered the handler before any timer of it could fire. */
export function enteredLate(history: History, { pid, from }: Entry): boolean {
  const latest = history.rules.ledgerRenewMs + AFTERMATH_MS;
  return longStandstills(history, pid).some((still) => still.from < from && from - still.to < latest);
}

/** Whether a renewal is due is looked at four times in its interval: so old may the last one be when a process stops. */
const OLDEST_RENEWAL = 1.25;

function longStandstills({ standstills, rules }: History, pid: number): Span[] {
  const leastMs = rules.ledgerLeaseMs - OLDEST_RENEWAL * rules.ledgerRenewMs - TOLERANCE_MS;
  return standstills.filter((still) => still.pid === pid && still.to - still.from >= leastMs);
}

/** Whether some worker was lost to the others in that time: it ended, stood still, or could not reach PostgreSQL. */
export function anyLoss(history: History, within: Span): boolean {
  return isDisturbed(history, within, ({ server }) => server === 'postgres');
}

/** The same, or one of these outages. */
export function isDisturbed(
  { deaths, names, standstills, outages }: History,
  within: Span,
  counts: (outage: Outage) => boolean = () => true,
): boolean {
  const isWorker = (pid: number) => names.get(pid)?.startsWith('producer') !== true;
  return (
    [...deaths].some(([pid, { at }]) => isWorker(pid) && at > within.from && at < within.to) ||
    standstills.some((still) => meets(still, within)) ||
    outages.some((outage) => counts(outage) && meets(outage, within))
  );
}
