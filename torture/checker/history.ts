/*
 * What a storm leaves behind, as an auditor finds it: tables, stream and journals. Nothing here or beside it knows the
 * product's code. All times are milliseconds by one monotonic clock.
 */

export type Backend = 'db' | 'nats';

/** A row of the application's own table: proof that the transaction committed. */
export interface BusinessRow {
  readonly eventId: string;
  readonly type: string;
  readonly producer: string;
  readonly cause: string | null;
}

export interface QueueRow {
  readonly eventId: string;
  readonly type: string;
  readonly status: string;
  readonly attempts: number;
  readonly reason: string | null;
}

export interface LedgerRow {
  readonly eventId: string;
  readonly handler: string;
  readonly status: string;
}

export interface DeliveryRow {
  readonly eventId: string;
  readonly handler: string;
  readonly state: string;
  readonly attempts: number;
  readonly reason: string | null;
}

export interface EffectRow {
  readonly eventId: string;
  readonly handler: string;
  readonly attempt: number;
}

/** What a handler wrote down. `run` names one entry into it. */
export interface HandlerLine {
  readonly kind: 'begin' | 'end' | 'failed';
  readonly run: string;
  readonly eventId: string;
  readonly handler: string;
  readonly attempt: number;
  readonly pid: number;
  readonly at: number;
  readonly reason?: string;
  /** It was told to end: its time was over, its claim was lost, or its worker stops. */
  readonly aborted?: boolean;
}

/** What a producer believes of a transaction. */
export interface ProducerLine {
  readonly kind: 'acknowledged' | 'rolled back' | 'unknown';
  readonly ids: readonly string[];
  readonly at: number;
}

/** A process that stood still. */
export interface Standstill {
  readonly pid: number;
  readonly from: number;
  readonly to: number;
}

/** `postgres` and the like for all; `postgres of worker-1` for one; `postgres writes` when it could only be read. */
export interface Outage {
  readonly server: string;
  readonly from: number;
  readonly to: number;
}

export interface StreamMessage {
  readonly eventId: string;
  readonly sequence: number;
}

/** What the checker must know of the settings. */
export interface Rules {
  readonly backend: Backend;
  readonly maxAttempts: number;
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
  readonly ledgerLeaseMs: number;
  readonly ledgerRenewMs: number;
}

export interface History {
  readonly rules: Rules;
  readonly business: readonly BusinessRow[];
  readonly queue: readonly QueueRow[];
  readonly ledger: readonly LedgerRow[];
  readonly deliveries: readonly DeliveryRow[];
  readonly effects: readonly EffectRow[];
  /** Empty with backend `db`. */
  readonly stream: readonly StreamMessage[];
  /** Messages that the consumer has not acknowledged, or not received yet. */
  readonly unacknowledged: number;
  readonly producers: readonly ProducerLine[];
  /** In the order of time. */
  readonly handlers: readonly HandlerLine[];
  /** When processes ended, by pid. */
  readonly deaths: ReadonlyMap<number, number>;
  readonly standstills: readonly Standstill[];
  readonly outages: readonly Outage[];
}

export interface Violation {
  readonly rule: string;
  readonly eventId?: string | undefined;
  readonly text: string;
}

/** One promise. @returns what breaks it */
export type Rule = (history: History) => Violation[];
