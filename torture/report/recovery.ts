import { grouped } from '../checker/byEvent';
import type { HandlerLine, History } from '../checker/history';
import type { Strike } from '../diary';

/** After one kind of fault, each time that it struck alone. Milliseconds since it was over. */
export interface Recovery {
  readonly fault: string;
  readonly times: number;
  /**
   * Until the first event that was written after the fault had reached a handler, which succeeded: all the way from its
   * transaction. What was in the stream already, or in a worker that lives, would tell nothing of the relay.
   */
  readonly flowMs: readonly number[];
  /** Where events were open when the fault ended: until the last of them was handled, what had begun included. */
  readonly caughtUpMs: readonly number[];
}

export interface Spread {
  readonly median: number | null;
  readonly worst: number | null;
}

/** Of these types nothing fails by itself, so that what is late is late for the fault's sake. */
const HEALTHY: ReadonlySet<string> = new Set(['Placed', 'Slow', 'Chained']);

/** @param ends of handlings, in the order of time */
export function recoveries(
  { business, producers, handlers }: History,
  ends: readonly HandlerLine[],
  strikes: readonly Strike[],
): Recovery[] {
  const healthy = new Set(business.filter(({ type }) => HEALTHY.has(type)).map(({ eventId }) => eventId));
  const written = new Map<string, number>();
  for (const { kind, ids, at } of producers)
    if (kind === 'acknowledged') for (const id of ids) if (healthy.has(id)) written.set(id, at);
  const handled = ends.flatMap(({ eventId, at }) => {
    const since = written.get(eventId);
    return since === undefined ? [] : [{ since, at }];
  });
  const succeeded = new Set(ends.map(({ run }) => run));
  const entered = handlers.flatMap(({ kind, run, eventId, at }) => {
    const since = written.get(eventId);
    return kind === 'begin' && since !== undefined && succeeded.has(run) ? [{ since, at }] : [];
  });
  // One that failed is no fault that something recovers from, but may be in the way of what recovers from another.
  const alone = strikes.filter(
    (strike) => strike.failed === undefined && !strikes.some((other) => other !== strike && other.from === strike.from),
  );
  return [...grouped(alone.filter(overlapsNone(strikes)), ({ name }) => name)].map(([fault, all]) => ({
    fault,
    times: all.length,
    flowMs: all.flatMap(({ to }) =>
      least(entered.filter(({ since }) => since >= to).map(({ at }) => Math.round(at - to))),
    ),
    caughtUpMs: all.flatMap(({ to }) =>
      most(handled.filter(({ since, at }) => since < to && at >= to).map(({ at }) => Math.round(at - to))),
    ),
  }));
}

function overlapsNone(strikes: readonly Strike[]) {
  return (strike: Strike) =>
    strikes.every((other) => other === strike || other.to < strike.from || other.from > strike.to);
}

function least(values: readonly number[]): number[] {
  return values.length > 0 ? [Math.min(...values)] : [];
}

function most(values: readonly number[]): number[] {
  return values.length > 0 ? [Math.max(...values)] : [];
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const [low, high] = [sorted[Math.floor(middle)], sorted[Math.ceil(middle)]];
  const median = low === undefined || high === undefined ? null : (low + high) / 2;
  return { median, worst: sorted.at(-1) ?? null };
}
