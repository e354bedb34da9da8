import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { ConsumerTimings, Counts } from '../consumer/outcome';
import type { PauseResult } from './messages';
import type { RecentStep } from './recent';

/** A worker that can receive. */
export interface JoinRequest {
  /** Task queue that only this worker polls. */
  readonly queue: string;
  readonly timings: ConsumerTimings;
}

export type ConsumerState =
  'without workers' | 'receiving' | 'waiting for the broker' | 'pausing' | 'paused' | 'continuing as new' | 'ending';

export interface ConsumerWorker {
  readonly queue: string;
  readonly state: 'receiving' | 'waiting' | 'resting';
  /** Why it waits, or waited last. */
  readonly reason: string | null;
}

export interface ConsumerTotals extends Counts {
  /** Acknowledged by another worker than the one that had received. */
  readonly acknowledgedElsewhere: number;
  readonly receives: number;
  readonly lostWorkers: number;
  readonly continuedAsNew: number;
}

/** Answered from the workflow's memory, so also while PostgreSQL is away. */
export interface ConsumerStatus {
  readonly state: ConsumerState;
  readonly workers: readonly ConsumerWorker[];
  /** Since the consumer was first started; they outlive a continue-as-new, and not a termination. */
  readonly totals: ConsumerTotals;
  /** Events handled lately. */
  readonly recent: readonly RecentStep[];
  /** ISO 8601, workflow time. Null while it is not paused, or paused by an older build. */
  readonly pausedSince: string | null;
  /** Messages that are through and wait for their acknowledgement. */
  readonly unsettled: number;
  readonly lastError: { readonly message: string; readonly at: string } | null;
}

export const joinSignal = defineSignal<[JoinRequest]>('join');
export const pauseSignal = defineSignal('pause');
export const resumeSignal = defineSignal('resume');
/** Ends the waits for a broker early. Never needed for delivery. */
export const wakeSignal = defineSignal('wake');

/** Resolves when no receive is open; after it nothing is received. Handlers that run already run on. */
export const pauseUpdate = defineUpdate<PauseResult>('pause');
export const resumeUpdate = defineUpdate<PauseResult>('resume');

export const statusQuery = defineQuery<ConsumerStatus>('status');
