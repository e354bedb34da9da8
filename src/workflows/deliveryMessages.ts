import { defineQuery, defineSignal } from '@temporalio/workflow';

/** One handler of the event that a delivery run is to see through; what stands in its row of `deliveries`. */
export interface WaitingDelivery {
  readonly handler: string;
  /** Attempts spent so far. */
  readonly attempts: number;
  /** Milliseconds until the next attempt, by the database's clock. */
  readonly dueInMs: number;
  readonly reason: string | null;
  /** Given up already: the run only shows it, by ending failed. */
  readonly dead?: boolean;
}

/** What a run hands to its successor when it continues as new. */
export interface CarriedDelivery extends WaitingDelivery {
  /** An operator's reason to give it up, not carried out yet. */
  readonly skip?: string;
}

export interface DeliveryTimings {
  readonly heartbeatTimeoutMs: number;
  readonly activityRetryMs: number;
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
  /** Only shown: the worker that makes an attempt decides by its own setting. Absent in runs of an older build. */
  readonly maxAttempts?: number;
}

/** What a delivery run is started with; never the body. */
export interface DeliverInput {
  readonly eventId: string;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly aggregateId: string;
  readonly timings: DeliveryTimings;
  /** After a continue-as-new: what the run before had left. */
  readonly carried?: readonly CarriedDelivery[];
}

/** Answer of one attempt that did not throw. A failed attempt throws, so that the Temporal UI shows it as failed. */
export type AttemptResult =
  /** The effect is there, or the delivery was skipped: nothing waits any more. */
  | { readonly kind: 'done' }
  /** Tried again at a known time; no attempt was spent. */
  | { readonly kind: 'deferred'; readonly dueInMs: number; readonly reason: string; readonly attempts: number };

/** Details of the failure that a failed attempt throws. */
export interface AttemptFailure {
  readonly kind: 'failed' | 'dead';
  readonly attempts: number;
  readonly dueInMs: number;
  readonly reason: string;
}

export interface SkipRequest {
  readonly handler: string;
  readonly reason: string;
}

/** What a run tells the activity that carries a skip out. */
export interface SkipOrder extends SkipRequest {
  readonly eventId: string;
  /** For the log; runs of an older build name neither. */
  readonly eventType?: string;
  /** Spent so far. */
  readonly attempts?: number;
}

export interface RetryNowRequest {
  /** Default: every handler that waits. */
  readonly handler?: string;
}

export interface DeliveryStatus {
  readonly eventId: string;
  readonly handlers: readonly {
    readonly handler: string;
    readonly state: 'waiting' | 'running' | 'done' | 'dead' | 'skipped';
    readonly attempts: number;
    /** ISO 8601, workflow time; null when it is running or over. */
    readonly nextAt: string | null;
    readonly reason: string | null;
  }[];
}

/** See these handlers through. Asking twice is harmless. */
export const deliverSignal = defineSignal<[readonly WaitingDelivery[]]>('deliver');
/** End the wait and try now. */
export const retryNowSignal = defineSignal<[RetryNowRequest?]>('retryNow');
/** Give a handler up on purpose: the ledger says done, the reason stands in `deliveries`. */
export const skipSignal = defineSignal<[SkipRequest]>('skip');
export const deliveryStatusQuery = defineQuery<DeliveryStatus>('status');
