import type { RecentStep } from '../workflows/recent';
import type { Status } from './statusPage';

const MINUTE_MS = 60_000;

/** Events a second. Null where it cannot be told. */
export interface Rates {
  /** What they are of: the last minute, or the time since the look before. */
  readonly over: 'the last minute' | 'the last look';
  readonly enqueued: number | null;
  readonly published: number | null;
  readonly handled: number | null;
}

/** One look at the totals, with the time of this process's own clock: only the time between two looks is taken from it. */
export interface Look {
  readonly atMs: number;
  readonly status: Omit<Status, 'rates'>;
}

/**
 * Between two looks, where there were two; else of the last minute, as relay and consumer remember it. What the time is then,
 * the database says: the clock of a laptop that is minutes off would make the minute another one.
 */
export function ratesOf(look: Look, before: Look | undefined): Rates {
  const { relay, consumer, database } = look.status;
  if (!before) {
    const nowMs = database.available ? Date.parse(database.at) : undefined;
    return {
      over: 'the last minute',
      enqueued: null,
      published: relay.available ? lately(relay.recent, nowMs) : null,
      handled: consumer?.available ? lately(consumer.recent, nowMs) : null,
    };
  }
  const seconds = (look.atMs - before.atMs) / 1_000;
  // A run that was started anew counts from nothing.
  const rate = (now: number | null, then: number | null) =>
    now === null || then === null || now < then ? null : round((now - then) / seconds);
  const published = ({ status }: Look) => (status.relay.available ? status.relay.totals.published : null);
  const handled = ({ status }: Look) => (status.consumer?.available ? status.consumer.totals.handled : null);
  const enqueued = ({ status }: Look) => (status.database.available ? status.database.lastId : null);
  return {
    over: 'the last look',
    enqueued: rate(enqueued(look), enqueued(before)),
    published: rate(published(look), published(before)),
    handled: rate(handled(look), handled(before)),
  };
}

function lately(steps: readonly RecentStep[] | undefined, nowMs: number | undefined): number | null {
  // A relay of an older build remembers nothing.
  if (!steps || nowMs === undefined) return null;
  const count = steps.filter(([at]) => at > nowMs - MINUTE_MS).reduce((sum, [, each]) => sum + each, 0);
  return round(count / (MINUTE_MS / 1_000));
}

function round(rate: number): number {
  return rate >= 100 ? Math.round(rate) : Math.round(rate * 100) / 100;
}
