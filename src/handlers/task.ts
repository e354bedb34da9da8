import type { LedgerClaim } from '../ledger/claim';
import type { Loss } from '../ledger/leases';
import type { WaitingDelivery } from '../workflows/deliveryMessages';
import type { IncomingEvent } from './incoming';

/** What became of one handler of one event. */
export type TaskResult =
  | { readonly kind: 'done' }
  /** A delivery run sees it through; to be started with these, unless that has been done. */
  | { readonly kind: 'handed over'; readonly deliveries: readonly WaitingDelivery[] }
  | { readonly kind: 'returned'; readonly reason: string };

/** One handler of one event. */
export interface Task {
  readonly event: IncomingEvent;
  readonly resolve: (result: TaskResult) => void;
}

/** A task whose ledger claim is ours. */
export interface ClaimedTask extends Task {
  readonly claim: LedgerClaim;
  readonly loss: Loss;
  /** When the event was due, by `performance.now()`: its age was told by the database. NaN when nobody asked. */
  readonly dueAt: number;
}

export const STOPPING: TaskResult = { kind: 'returned', reason: 'the worker stops' };
export const UNKNOWN_SET: Extract<TaskResult, { kind: 'returned' }> = {
  kind: 'returned',
  reason: 'the recorded set of handlers cannot be read',
};

/** By whichever clock wrote it; compared by the database with its own. */
export function dueMs({ availableAt, occurredAt }: IncomingEvent): number {
  return Date.parse(availableAt ?? occurredAt);
}
