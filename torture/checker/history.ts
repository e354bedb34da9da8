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

/** A command that an operator gave, from its start to its exit. */
export interface OperatorLine {
  readonly verb: 'pause' | 'resume' | 'reemit' | 'prune';
  readonly args: readonly string[];
  readonly from: number;
  readonly to: number;
  /** Null: it took too long, and was ended. */
  readonly code: number | null;
  /** What it printed as JSON. */
  readonly result?: unknown;
  /** Why it failed, as it said. */
  readonly said?: string;
  /** The dead letters that stood when a re-emit began; absent when nobody could look. */
  readonly dead?: readonly { readonly eventId: string; readonly handler: string }[] | undefined;
}

/** A row that was deleted from the outbox, as a trigger found it at that moment. */
export interface RemovedRow {
  readonly eventId: string;
  readonly status: string;
  /** Since when it was done; null: it never was. */
  readonly doneForMs: number | null;
  /** Handlers of it that waited or were dead. */
  readonly open: number;
  readonly at: number;
}

/** A process that stood still. */
export interface Standstill {
  readonly pid: number;
  readonly from: number;
  readonly to: number;
}

/**
 * How a server was away. `crash`: all its processes were killed. `network`: the way to it was in trouble. `writes`: it
 * answered, and refused some statements.
 */
export type OutageKind = 'crash' | 'restart' | 'freeze' | 'network' | 'writes';

export interface Outage {
  readonly server: 'postgres' | 'nats' | 'temporal';
  readonly kind: OutageKind;
  /** The one worker that felt it; absent: all did. */
  readonly of?: string | undefined;
  readonly from: number;
  readonly to: number;
}

/** How a process ended. */
export interface Death {
  readonly at: number;
  /** By SIGKILL, or by a fault of its own: it had no time to give anything back. */
  readonly killed: boolean;
}

export interface StreamMessage {
  readonly eventId: string;
  readonly sequence: number;
  /** When the broker stored it. */
  readonly at: number;
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
  readonly removed: readonly RemovedRow[];
  /** Events whose delivery runs Temporal calls running. */
  readonly runs: readonly string[];
  /** Empty with backend `db`. */
  readonly stream: readonly StreamMessage[];
  /** Messages that the consumer has not acknowledged, or not received yet. */
  readonly unacknowledged: number;
  readonly producers: readonly ProducerLine[];
  /** In the order of time. */
  readonly handlers: readonly HandlerLine[];
  /** In the order of time. */
  readonly operators: readonly OperatorLine[];
  /** How processes ended, by pid. */
  readonly deaths: ReadonlyMap<number, Death>;
  /** Which worker or producer a process was: `worker-1`. */
  readonly names: ReadonlyMap<number, string>;
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
