import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { RecentStep } from './recent';

/** Which dead letters `reemitAll` revives; an empty filter means all of them. */
export interface DeadLetterFilter {
  readonly eventType?: string;
  /** Only what this handler gave up; never what the relay gave up. */
  readonly handler?: string;
  /** Tenant, a UUID. */
  readonly companyId?: string;
  /** ISO 8601; dead since this time or later. */
  readonly since?: string;
}

export interface ReemitRequest {
  /** Event ids (UUIDs). What is none is reported back (update) or logged (signal), and never fails the relay. */
  readonly ids: readonly string[];
  /** Only what this handler gave up. Default: all that is dead of these events. */
  readonly handler?: string;
}

export interface ReemitResult {
  /** Event ids that are pending again, or wait for their handlers again, with a fresh budget. */
  readonly revived: readonly string[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
}

export interface ReemitAllResult {
  /** Dead letters: an event that two handlers gave up counts twice. */
  readonly revived: number;
}

export interface PauseResult {
  /** `false` when it was paused (or running) already. */
  readonly changed: boolean;
}

export type RelayState =
  'starting' | 'running' | 'pausing' | 'paused' | 'waiting for the broker' | 'continuing as new' | 'ending';

export interface RelayTotals {
  readonly claimed: number;
  readonly published: number;
  /** Acknowledged by the broker as already there. */
  readonly duplicates: number;
  readonly deferred: number;
  readonly dead: number;
  /** Handed back unchanged, because the broker was away or the worker stopped. */
  readonly returned: number;
  /** Backend `db`: left to delivery runs. */
  readonly retrying: number;
  /** Backend `db`: of `published`, those that no handler takes. */
  readonly unhandled: number;
  readonly passes: number;
  readonly continuedAsNew: number;
}

/** Answered from the workflow's memory, so also while PostgreSQL is away. */
export interface RelayStatus {
  readonly state: RelayState;
  /** Age of the oldest due event when the last pass began, in milliseconds by the database's clock. */
  readonly lagMs: number;
  /** Claimed events whose outcome is not settled yet. */
  readonly inFlight: number;
  /** Since the relay was first started; they outlive a continue-as-new, and not a termination. */
  readonly totals: RelayTotals;
  /** Events published (backend `db`: handled) lately. */
  readonly recent: readonly RecentStep[];
  /** ISO 8601, workflow time, as all times here. Null while it is not paused, or paused by an older build. */
  readonly pausedSince: string | null;
  /** While it waits for a broker: since when, and why. */
  readonly outage: { readonly since: string | null; readonly reason: string | null } | null;
  readonly lastError: { readonly message: string; readonly at: string } | null;
  /** ISO 8601, workflow time; null before the first pass. */
  readonly lastPassAt: string | null;
  readonly worker: string | null;
}

export const reemitSignal = defineSignal<[ReemitRequest]>('reemit');
export const reemitAllSignal = defineSignal<[DeadLetterFilter?]>('reemitAll');
export const pauseSignal = defineSignal('pause');
export const resumeSignal = defineSignal('resume');
/** Ends a long poll, or a pause for an outage of the broker, early. Never needed for delivery. */
export const wakeSignal = defineSignal('wake');

export const reemitUpdate = defineUpdate<ReemitResult, [ReemitRequest]>('reemit');
export const reemitAllUpdate = defineUpdate<ReemitAllResult, [DeadLetterFilter?]>('reemitAll');
/** Resolves when no claim is open; after it nothing is published. */
export const pauseUpdate = defineUpdate<PauseResult>('pause');
export const resumeUpdate = defineUpdate<PauseResult>('resume');

export const statusQuery = defineQuery<RelayStatus>('status');
