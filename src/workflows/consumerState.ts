import { MAX_UNSETTLED, type ConsumerTimings, type ReceiveResult } from '../consumer/outcome';
import { counted, type RecentStep } from './recent';
import type { ConsumerState, ConsumerStatus, ConsumerTotals, ConsumerWorker, JoinRequest } from './consumerMessages';
import { sinceOf, type Since } from './since';

/** A worker as the consumer knows it. */
export class Member {
  state: ConsumerWorker['state'] = 'resting';
  reason: string | null = null;
  /** Nothing was heard of its last receive. */
  silent = false;
  /** It has joined although it is known: it was waiting for a receive, and lives. */
  joinedAgain = false;

  constructor(
    readonly queue: string,
    public timings: ConsumerTimings,
    /** Times in a row that it was away; its position on the shared schedule. */
    public failures = 0,
  ) {}
}

/** What the consumer is started with; after a continue-as-new, also what it had been doing. */
export interface ConsumerInput {
  readonly timings: ConsumerTimings;
  readonly carried?: {
    readonly paused: boolean;
    readonly members: readonly (JoinRequest & { readonly failures: number })[];
    readonly totals: ConsumerTotals;
    readonly unsettled: readonly string[];
    readonly since?: Since<ConsumerState> | undefined;
    readonly lastError: ConsumerStatus['lastError'];
    readonly recent?: readonly RecentStep[];
    readonly pausedSince?: string | null;
  };
}

const NOTHING: ConsumerTotals = {
  received: 0,
  handled: 0,
  handedOver: 0,
  returned: 0,
  acknowledgedElsewhere: 0,
  receives: 0,
  lostWorkers: 0,
  continuedAsNew: 0,
};

/** The consumer's memory: all that its status shows, and all that survives a continue-as-new. */
export class ConsumerMemory {
  timings: ConsumerTimings;
  paused: boolean;
  totals: ConsumerTotals;
  lastError: ConsumerStatus['lastError'];
  unsettled: string[];
  recent: readonly RecentStep[];
  pausedSince: string | null;
  readonly members = new Map<string, Member>();
  /** The state that its page shows, and since when. */
  since: Since<ConsumerState> | undefined;
  rollingOver = false;
  cancelled = false;

  constructor({ timings, carried }: ConsumerInput) {
    this.timings = timings;
    this.paused = carried?.paused ?? false;
    this.totals = carried?.totals ?? NOTHING;
    this.lastError = carried?.lastError ?? null;
    this.since = carried?.since;
    this.unsettled = [...(carried?.unsettled ?? [])];
    this.recent = carried?.recent ?? [];
    this.pausedSince = carried?.pausedSince ?? null;
    for (const { queue, timings: own, failures } of carried?.members ?? [])
      this.members.set(queue, new Member(queue, own, failures));
  }

  carry(): ConsumerInput {
    const { timings, paused, unsettled, since, lastError, recent, pausedSince } = this;
    const totals = { ...this.totals, continuedAsNew: this.totals.continuedAsNew + 1 };
    const members = [...this.members.values()].map(({ queue, timings: own, failures }) => ({
      queue,
      timings: own,
      failures,
    }));
    return { timings, carried: { paused, members, totals, unsettled, since, lastError, recent, pausedSince } };
  }

  received(member: Member, { timings, counts, unsettled }: ReceiveResult, now: Date): void {
    this.timings = member.timings = timings;
    this.add({ ...counts, receives: 1 });
    this.recent = counted(this.recent, counts.handled, now);
    // The oldest are given up first: they are delivered again soonest, if they have not been already.
    this.unsettled = [...this.unsettled, ...unsettled].slice(-MAX_UNSETTLED);
  }

  add(more: Partial<ConsumerTotals>): void {
    const totals: Record<string, number> = { ...this.totals };
    for (const [name, count] of Object.entries(more)) totals[name] = (totals[name] ?? 0) + count;
    this.totals = totals as unknown as ConsumerTotals;
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

  error(message: string, now: Date): void {
    this.lastError = { message: message.slice(0, 300), at: now.toISOString() };
  }

  /** No receive is open. */
  get quiet(): boolean {
    return !this.list().some(({ state }) => state === 'receiving');
  }

  get state(): ConsumerState {
    if (this.cancelled) return 'ending';
    if (this.rollingOver) return 'continuing as new';
    if (this.paused) return this.quiet ? 'paused' : 'pausing';
    if (this.members.size === 0) return 'without workers';
    return this.list().every(({ state }) => state === 'waiting') ? 'waiting for the broker' : 'receiving';
  }

  /** When the present state began. The next run goes on with the state before its own end. */
  stateSince(now: Date): string {
    const since = sinceOf(this.since, this.state, now);
    if (!this.rollingOver) this.since = since;
    return since.at;
  }

  status(): ConsumerStatus {
    const { state, totals, recent, pausedSince, lastError } = this;
    return { state, workers: this.list(), totals, recent, pausedSince, unsettled: this.unsettled.length, lastError };
  }

  private list(): ConsumerWorker[] {
    return [...this.members.values()].map(({ queue, state, reason }) => ({ queue, state, reason }));
  }
}
