import type { RelayTimings } from '../relay/outcome';

/** What passes through Temporal between consumer and workers: counts, reasons and reply subjects. Never a body or an id. */

/** Of each worker its own: a timing of one that is configured differently would cut its receive short. */
export type ConsumerTimings = Pick<
  RelayTimings,
  | 'longPollMs'
  | 'sliceMs'
  | 'publishTimeoutMs'
  | 'heartbeatTimeoutMs'
  | 'activityRetryMs'
  | 'ownQueueTimeoutMs'
  | 'backoffFirstMs'
  | 'backoffMaxMs'
  | 'rollOverEvents'
>;

/** Since the result before; outcomes that came later than a receive are counted in the next. */
export interface Counts {
  readonly received: number;
  readonly handled: number;
  readonly handedOver: number;
  readonly returned: number;
}

export interface ReceiveResult {
  /** `away`: no messages can be received here for now. `left`: the worker stops, and takes no more. */
  readonly kind: 'received' | 'away' | 'left';
  /** Why it is away. */
  readonly reason: string | null;
  readonly counts: Counts;
  /** Reply subjects of messages that are through, whose acknowledgement this worker could not send. */
  readonly unsettled: readonly string[];
  readonly timings: ConsumerTimings;
}

/** Some 80 bytes each: a result stays below what Temporal warns of. */
export const MAX_UNSETTLED_PER_RESULT = 2_000;
/** What is forgotten past it is delivered again, and found done by the ledger. */
export const MAX_UNSETTLED = 10_000;
