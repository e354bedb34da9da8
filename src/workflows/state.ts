import type { BatchOutcome, RelayTimings, Settled } from '../relay/outcome';
import { counted, type RecentStep } from './recent';
import type { DeadLetterFilter, RelayState, RelayStatus, RelayTotals } from './messages';
import { sinceOf, type Since } from './since';

/** A re-emit that arrived by signal and has not been carried out. */
export type ReemitOrder =
  { readonly ids: readonly string[]; readonly handler?: string } | { readonly all: DeadLetterFilter };

/** What the relay is started with; after a continue-as-new, also what it had been doing. */
export interface RelayInput {
  readonly timings: RelayTimings;
  readonly carried?: {
    readonly paused: boolean;
    readonly totals: RelayTotals;
    readonly lagMs: number;
    readonly since?: Since<RelayState> | undefined;
    readonly lastError: RelayStatus['lastError'];
    readonly lastPassAt: string | null;
    readonly failedProbes: number;
    readonly orders: readonly ReemitOrder[];
    readonly recent?: readonly RecentStep[];
    readonly pausedSince?: string | null;
    readonly outageSince?: string | null;
  };
}

const NOTHING: RelayTotals = {
  claimed: 0,
  published: 0,
  duplicates: 0,
  deferred: 0,
  dead: 0,
  returned: 0,
  retrying: 0,
  unhandled: 0,
  passes: 0,
  continuedAsNew: 0,
};

/** The relay's memory: all that its status shows, and all that survives a continue-as-new. */
export class RelayMemory {
  timings: RelayTimings;
  paused: boolean;
  totals: RelayTotals;
  lagMs: number;
  lastError: RelayStatus['lastError'];
  lastPassAt: string | null;
  /** Times in a row that no worker had a broker; the position on the shared schedule. */
  failedProbes: number;
  orders: ReemitOrder[];
  recent: readonly RecentStep[];
  pausedSince: string | null;
  outageSince: string | null;
  worker: string | null = null;
  /** Rows of each token that is claimed and not settled. */
  readonly open = new Map<string, number>();
  claiming = false;
  /** A re-emit that came by signal is being carried out. */
  reemitting = false;
  /** The state that its page shows, and since when. */
  since: Since<RelayState> | undefined;
  rollingOver = false;
  cancelled = false;

  constructor(input: RelayInput) {
    const { carried } = input;
    this.timings = input.timings;
    this.paused = carried?.paused ?? false;
    // A run of an older version has counted less.
    this.totals = { ...NOTHING, ...carried?.totals };
    this.lagMs = carried?.lagMs ?? 0;
    this.lastError = carried?.lastError ?? null;
    this.since = carried?.since;
    this.lastPassAt = carried?.lastPassAt ?? null;
    this.failedProbes = carried?.failedProbes ?? 0;
    this.orders = [...(carried?.orders ?? [])];
    this.recent = carried?.recent ?? [];
    this.pausedSince = carried?.pausedSince ?? null;
    this.outageSince = carried?.outageSince ?? null;
  }

  /** How much the orders weigh, counted in ids; a filter is about ten of them long. */
  get orderedIds(): number {
    return this.orders.reduce((sum, order) => sum + ('ids' in order ? order.ids.length : 10), 0);
  }

  carry(): RelayInput {
    const { timings, paused, lagMs, since, lastError, lastPassAt, failedProbes, orders } = this;
    const { recent, pausedSince, outageSince } = this;
    const totals = { ...this.totals, continuedAsNew: this.totals.continuedAsNew + 1 };
    const shown = { since, recent, pausedSince, outageSince };
    return { timings, carried: { paused, totals, lagMs, lastError, lastPassAt, failedProbes, orders, ...shown } };
  }

  passed(rows: number, lagMs: number, now: Date): void {
    this.lagMs = lagMs;
    this.lastPassAt = now.toISOString();
    this.add({ claimed: rows, passes: 1 });
  }

  settled(settled: Settled, now: Date, outcome?: Pick<BatchOutcome, 'duplicates' | 'unhandled'>): void {
    this.recent = counted(this.recent, settled.done, now);
    this.add({
      published: settled.done,
      duplicates: outcome?.duplicates ?? 0,
      unhandled: outcome?.unhandled ?? 0,
      retrying: settled.retrying ?? 0,
      deferred: settled.deferred,
      dead: settled.dead,
      returned: settled.returned,
    });
  }

  /** @returns false when it was paused already */
  pause(now: Date): boolean {
    const changed = !this.paused;
    if (changed) this.pausedSince = now.toISOString();
    this.paused = true;
    return changed;
  }

  /** @returns false when it was not paused */
  resume(): boolean {
    const changed = this.paused;
    this.paused = false;
    this.pausedSince = null;
    return changed;
  }

  /** No worker has a broker. */
  brokerAway(now: Date): void {
    if (this.failedProbes === 0) this.outageSince = now.toISOString();
    this.failedProbes++;
  }

  brokerBack(): void {
    this.failedProbes = 0;
    this.outageSince = null;
  }

  failed(outcome: BatchOutcome, now: Date): void {
    // A handler's failure is shown by its delivery run.
    const first = outcome.exceptions.find(({ write }) => write !== 'retry');
    if (first) this.error(first.reason, now);
  }

  error(message: string, now: Date): void {
    this.lastError = { message: message.slice(0, 300), at: now.toISOString() };
  }

  /** This run ends: by a continue-as-new, or because it was cancelled. */
  get leaving(): boolean {
    return this.rollingOver || this.cancelled;
  }

  get quiet(): boolean {
    return !this.claiming && this.open.size === 0;
  }

  get state(): RelayState {
    if (this.cancelled) return 'ending';
    if (this.rollingOver) return 'continuing as new';
    if (this.paused) return this.quiet ? 'paused' : 'pausing';
    if (this.failedProbes > 0) return 'waiting for the broker';
    return this.totals.passes === 0 && !this.claiming ? 'starting' : 'running';
  }

  /** When the present state began. The next run goes on with the state before its own end. */
  stateSince(now: Date): string {
    const since = sinceOf(this.since, this.state, now);
    if (!this.rollingOver) this.since = since;
    return since.at;
  }

  status(): RelayStatus {
    const { state, lagMs, totals, recent, pausedSince, lastError, lastPassAt, worker } = this;
    const isAway = this.failedProbes > 0;
    return {
      state,
      lagMs,
      inFlight: [...this.open.values()].reduce((sum, rows) => sum + rows, 0),
      totals,
      recent,
      pausedSince,
      outage: isAway ? { since: this.outageSince, reason: lastError?.message ?? null } : null,
      lastError,
      lastPassAt,
      worker,
    };
  }

  private add(more: Partial<RelayTotals>): void {
    const totals: Record<string, number> = { ...this.totals };
    for (const [name, count] of Object.entries(more)) totals[name] = (totals[name] ?? 0) + count;
    this.totals = totals as unknown as RelayTotals;
  }
}
