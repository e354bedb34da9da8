import type { Config } from '../config';
import type { Counts, ReceiveResult } from '../consumer/outcome';
import type { RunResult } from '../handlers/runHandler';
import type { BatchOutcome, ClaimResult, Settled } from '../relay/outcome';
import { Meter } from './meter';

/** From a millisecond, which is what a healthy event takes, to the longest wait between two attempts. */
const LATENCY = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

/**
 * What a worker counts, with a method for each thing that happens to it. Calls are made once for a statement or a pass
 * where that is possible, and cost less than a microsecond where it is not.
 */
export class Metrics {
  readonly meter: Meter;
  private readonly claims;
  private readonly claimed;
  private readonly published;
  private readonly duplicates;
  private readonly settledRows;
  private readonly publishLatency;
  private readonly lost;
  private readonly takenOver;
  private readonly received;
  private readonly skips;
  private readonly attempts;
  private readonly durations;
  private readonly failures;
  private readonly endToEnd;
  private readonly deferredHandlings;
  private readonly exhausted;
  private readonly runStarts;
  private readonly sweeps;
  private openClaims = 0;
  private openReceives = 0;

  constructor({ schema }: Pick<Config, 'schema'>) {
    const meter = (this.meter = new Meter({ schema }));
    this.claims = meter.counter('outbox_claims_total', 'Claims of the relay that ended in this worker', ['result']);
    this.claimed = meter.counter('outbox_events_claimed_total', 'Events taken from the outbox');
    this.published = meter.counter('outbox_events_published_total', 'Events that the broker has acknowledged');
    this.duplicates = meter.counter('outbox_publish_duplicates_total', 'Of these, those that it had already');
    this.settledRows = meter.counter('outbox_events_settled_total', 'Rows written after a pass, by what they became', [
      'outcome',
    ]);
    this.publishLatency = meter.histogram(
      'outbox_publish_latency_seconds',
      "From the claim to the broker's acknowledgement",
      LATENCY,
    );
    this.lost = meter.counter('outbox_leases_lost_total', 'Claims of this worker that another has taken over', [
      'lease',
    ]);
    this.takenOver = meter.counter('outbox_leases_taken_over_total', 'Claims found here whose worker was gone', [
      'lease',
    ]);
    this.received = meter.counter('outbox_messages_received_total', 'Messages of the broker, by what became of them', [
      'outcome',
    ]);
    this.skips = meter.counter(
      'outbox_ledger_skips_total',
      'Events that a handler was spared, as it had them already',
      ['handler'],
    );
    this.attempts = meter.counter('outbox_handler_attempts_total', 'Entries into a handler', ['handler', 'attempt']);
    this.durations = meter.histogram('outbox_handler_duration_seconds', 'How long a handler ran', LATENCY, [
      'handler',
      'event_type',
    ]);
    this.failures = meter.counter('outbox_handler_failures_total', 'Entries that failed', ['handler', 'event_type']);
    this.endToEnd = meter.histogram(
      'outbox_end_to_end_latency_seconds',
      "From an event's due time to the handler's effect, by the database's clock",
      LATENCY,
      ['handler'],
    );
    this.deferredHandlings = meter.counter(
      'outbox_handler_deferrals_total',
      'Handlings put off without an attempt: held elsewhere, no such handler here, or a newer version',
      ['handler'],
    );
    this.exhausted = meter.counter('outbox_handler_exhausted_total', 'Dead letters: attempts ran out', ['handler']);
    this.runStarts = meter.counter('outbox_delivery_run_starts_total', 'Delivery runs started', ['by']);
    this.sweeps = meter.counter('outbox_sweeps_total', 'Looks for what nobody else would finish', ['result']);
    this.beginAtZero();
  }

  /** A series that begins with its first event shows no increase at it. */
  private beginAtZero(): void {
    for (const result of ['batch', 'idle', 'away', 'ended'] satisfies ClaimResult['kind'][]) this.claims.add(0, result);
    for (const outcome of ['done', 'deferred', 'dead', 'returned', 'retrying']) this.settledRows.add(0, outcome);
    for (const lease of ['outbox', 'ledger']) {
      this.lost.add(0, lease);
      this.takenOver.add(0, lease);
    }
    for (const outcome of ['received', 'handled', 'handed over', 'returned']) this.received.add(0, outcome);
    for (const by of ['fast path', 'sweep']) this.runStarts.add(0, by);
    for (const result of ['done', 'failed']) this.sweeps.add(0, result);
  }

  /** Called once, with the handlers of this worker. */
  knows(handlers: readonly { readonly name: string; readonly types: readonly string[] }[]): void {
    for (const { name, types } of handlers) {
      this.skips.add(0, name);
      this.deferredHandlings.add(0, name);
      this.exhausted.add(0, name);
      this.endToEnd.observe(0, 0, name);
      for (const attempt of ['first', 'retry']) this.attempts.add(0, name, attempt);
      for (const type of types) {
        this.failures.add(0, name, type);
        this.durations.observe(0, 0, name, type);
      }
    }
  }

  /** A claim is open in this worker, so the relay runs. */
  get isClaiming(): boolean {
    return this.openClaims > 0;
  }

  get isReceiving(): boolean {
    return this.openReceives > 0;
  }

  async duringClaim(claim: () => Promise<ClaimResult>): Promise<ClaimResult> {
    this.openClaims++;
    try {
      const result = await claim();
      this.claims.add(1, result.kind);
      return result;
    } finally {
      this.openClaims--;
    }
  }

  async duringReceive(receive: () => Promise<ReceiveResult>): Promise<ReceiveResult> {
    this.openReceives++;
    try {
      const result = await receive();
      this.messages(result.counts);
      return result;
    } finally {
      this.openReceives--;
    }
  }

  rowsClaimed(rows: number): void {
    this.claimed.add(rows);
  }

  /** An event was acknowledged so many milliseconds after it had been claimed. */
  acknowledged(ms: number): void {
    this.publishLatency.observe(ms / 1_000, 1);
  }

  passPublished({ published, duplicates }: Pick<BatchOutcome, 'published' | 'duplicates'>): void {
    this.published.add(published);
    this.duplicates.add(duplicates);
  }

  settled({ done, deferred, dead, returned, retrying = 0, lost }: Settled): void {
    this.settledRows.add(done, 'done');
    this.settledRows.add(deferred, 'deferred');
    this.settledRows.add(dead, 'dead');
    this.settledRows.add(returned, 'returned');
    this.settledRows.add(retrying, 'retrying');
    this.lost.add(lost, 'outbox');
  }

  rowsTakenOver(rows: number): void {
    this.takenOver.add(rows, 'outbox');
  }

  ledgerClaimLost(): void {
    this.lost.add(1, 'ledger');
  }

  ledgerClaimTakenOver(): void {
    this.takenOver.add(1, 'ledger');
  }

  private messages({ received, handled, handedOver, returned }: Counts): void {
    this.received.add(received, 'received');
    this.received.add(handled, 'handled');
    this.received.add(handedOver, 'handed over');
    this.received.add(returned, 'returned');
  }

  ledgerSkip(handler: string): void {
    this.skips.add(1, handler);
  }

  /** Both names are bounded by the code of the handlers. One that was interrupted is given back, and is no failure. */
  handlerEnded(handler: string, eventType: string, attempt: number, result: RunResult['kind'], ms: number): void {
    this.attempts.add(1, handler, attempt === 1 ? 'first' : 'retry');
    this.durations.observe(ms / 1_000, 1, handler, eventType);
    if (result === 'failed') this.failures.add(1, handler, eventType);
  }

  /** The effect is there, so many milliseconds after the event was due. */
  handled(handler: string, ms: number): void {
    // Of an event of a foreign publisher nobody knows when it was due.
    if (!Number.isNaN(ms)) this.endToEnd.observe(Math.max(0, ms) / 1_000, 1, handler);
  }

  handlingDeferred(handler: string): void {
    this.deferredHandlings.add(1, handler);
  }

  handlerExhausted(handler: string): void {
    this.exhausted.add(1, handler);
  }

  runStarted(by: 'fast path' | 'sweep', count = 1): void {
    this.runStarts.add(count, by);
  }

  swept(result: 'done' | 'failed'): void {
    this.sweeps.add(1, result);
  }
}
