import type { ClaimResult } from '../relay/outcome';
import { KINDS } from '../retention/policy';
import type { Meter } from './meter';

/** From a millisecond, which is what a healthy event takes, to the longest wait between two attempts. */
const LATENCY = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

/** Why a handling was put off without an attempt. */
export const DEFERRALS = ['held elsewhere', 'no handler', 'newer version', 'worker stopping'] as const;
export type Deferral = (typeof DEFERRALS)[number];

export type Counters = ReturnType<typeof countersOf>;

/** What `Metrics` counts, each with the meaning that docs/operations.md gives it, beginning at zero. */
export function countersOf(meter: Meter) {
  const counters = {
    claims: meter.counter('outbox_claims_total', 'Claims of the relay that ended in this worker', ['result']),
    claimed: meter.counter('outbox_events_claimed_total', 'Events taken from the outbox'),
    published: meter.counter('outbox_events_published_total', 'Events that the broker has acknowledged'),
    duplicates: meter.counter('outbox_publish_duplicates_total', 'Of these, those that it had already'),
    settledRows: meter.counter('outbox_events_settled_total', 'Rows written after a pass, by what they became', [
      'outcome',
    ]),
    publishLatency: meter.histogram(
      'outbox_publish_latency_seconds',
      "From the claim to the broker's acknowledgement",
      LATENCY,
    ),
    lost: meter.counter('outbox_leases_lost_total', 'Claims of this worker that another has taken over', ['lease']),
    takenOver: meter.counter('outbox_leases_taken_over_total', 'Claims found here whose worker was gone', ['lease']),
    received: meter.counter('outbox_messages_received_total', 'Messages of the broker, by what became of them', [
      'outcome',
    ]),
    skips: meter.counter('outbox_ledger_skips_total', 'Events that a handler was spared, as it had them already', [
      'handler',
    ]),
    attempts: meter.counter('outbox_handler_attempts_total', 'Entries into a handler', ['handler', 'attempt']),
    durations: meter.histogram('outbox_handler_duration_seconds', 'How long a handler ran', LATENCY, [
      'handler',
      'event_type',
    ]),
    failures: meter.counter('outbox_handler_failures_total', 'Entries that failed', ['handler', 'event_type']),
    endToEnd: meter.histogram(
      'outbox_end_to_end_latency_seconds',
      "From an event's due time to the handler's effect, by the database's clock",
      LATENCY,
      ['handler'],
    ),
    deferredHandlings: meter.counter('outbox_handler_deferrals_total', 'Handlings put off without an attempt, by why', [
      'handler',
      'reason',
    ]),
    exhausted: meter.counter('outbox_handler_exhausted_total', 'Dead letters: attempts ran out', ['handler']),
    runStarts: meter.counter('outbox_delivery_run_starts_total', 'Delivery runs started', ['by']),
    sweeps: meter.counter('outbox_sweeps_total', 'Looks for what nobody else would finish', ['result']),
    prunes: meter.counter('outbox_prunes_total', 'Parts of the clean-up that ended in this worker', ['kind', 'result']),
    prunedRows: meter.counter('outbox_pruned_rows_total', 'Rows removed by the clean-up', ['kind']),
  };
  beginAtZero(counters);
  return counters;
}

/** A series that begins with its first event shows no increase at it. Those of handlers begin once they are known. */
function beginAtZero(counters: Counters): void {
  const { claims, settledRows, lost, takenOver, received, runStarts, sweeps, prunes, prunedRows } = counters;
  for (const result of ['batch', 'idle', 'away', 'ended'] satisfies ClaimResult['kind'][]) claims.add(0, result);
  for (const outcome of ['done', 'deferred', 'dead', 'returned', 'retrying']) settledRows.add(0, outcome);
  for (const lease of ['outbox', 'ledger']) {
    lost.add(0, lease);
    takenOver.add(0, lease);
  }
  for (const outcome of ['received', 'handled', 'handed over', 'returned']) received.add(0, outcome);
  for (const by of ['fast path', 'sweep']) runStarts.add(0, by);
  for (const result of ['done', 'failed']) sweeps.add(0, result);
  for (const kind of KINDS) {
    prunedRows.add(0, kind);
    for (const result of ['done', 'failed']) prunes.add(0, kind, result);
  }
}
