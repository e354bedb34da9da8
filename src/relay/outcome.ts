/**
 * What passes through Temporal between the relay's activities: tokens, counts, ids of rows that were not published,
 * and reasons. Never a body: histories stay small and hold nothing personal.
 */

/** Timings that the workflow needs; each claim brings those of its worker, so that a changed setting takes effect. */
export interface RelayTimings {
  readonly longPollMs: number;
  readonly sliceMs: number;
  readonly settleMs: number;
  readonly publishTimeoutMs: number;
  readonly heartbeatTimeoutMs: number;
  readonly activityRetryMs: number;
  readonly ownQueueTimeoutMs: number;
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
  readonly rollOverEvents: number;
  /** Backend `db`: how long a handler may take, and how many batches may wait for slow ones. Absent: publishing. */
  readonly handlingMs?: number;
  readonly openBatches?: number;
}

/**
 * A slice lasts this many times `sliceMs` at most, while events keep coming. Between two claims nothing is collected for
 * some 20 ms; with slices of 2 s that met one event in a hundred, and was the p99 from commit to subscriber (ADR 0012).
 */
export const LONGEST_SLICE = 3;

export interface ClaimRequest {
  /** Tokens whose rows are still being settled: not to be taken over. */
  readonly openTokens: readonly string[];
  /** Rows may have been left behind: free them before collecting. */
  readonly tidy: boolean;
}

export type ClaimResult = { readonly timings: RelayTimings } & (
  | { readonly kind: 'idle' }
  /** This worker has no live broker connection; another may. */
  | { readonly kind: 'away'; readonly reason: string; readonly queue: string }
  /** Rows claimed and on their way; `queue` is the claiming worker's own task queue. */
  | {
      readonly kind: 'batch';
      readonly token: string;
      readonly queue: string;
      readonly rows: number;
      readonly lagMs: number;
    }
  /** The claim was ended (worker stopping, or a newer claim elsewhere) and has settled its rows itself. */
  | { readonly kind: 'ended'; readonly rows: number; readonly settled: Settled; readonly lagMs: number }
);

/** Rows of a batch that are not simply done. */
export interface Exception {
  readonly write: 'defer' | 'bury' | 'return' | 'put back' | 'retry';
  readonly reason: string;
  readonly ids: readonly string[];
}

export interface BatchOutcome {
  readonly published: number;
  readonly duplicates: number;
  /** Of `published`: those that no handler takes (backend `db`). */
  readonly unhandled?: number;
  readonly exceptions: readonly Exception[];
  /** Reasons of earlier deferrals that no longer hold, since a row with that reason has just gone out. */
  readonly recovered: readonly string[];
  /** Why the broker is away, when it still is. */
  readonly away: string | null;
}

/** Rows written, by kind. */
export interface Settled {
  readonly done: number;
  readonly deferred: number;
  readonly dead: number;
  readonly returned: number;
  /** Left to delivery runs (backend `db`). */
  readonly retrying?: number;
  /** Taken over meanwhile by another claim, which settles them. */
  readonly lost: number;
}

export const NOTHING_SETTLED: Settled = { done: 0, deferred: 0, dead: 0, returned: 0, lost: 0 };
