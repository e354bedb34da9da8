import type { Config } from '../config';
import type { Counts, ReceiveResult } from '../consumer/outcome';
import type { RunResult } from '../handlers/runHandler';
import type { BatchOutcome, ClaimResult, Settled } from '../relay/outcome';
import type { Kind } from '../retention/policy';
import { countersOf, DEFERRALS, type Counters, type Deferral } from './counters';
import { Meter } from './meter';

/**
 * What a worker counts, with a method for each thing that happens to it. Calls are made once for a statement or a pass
 * where that is possible, and cost less than a microsecond where it is not.
 */
export class Metrics {
  readonly meter: Meter;
  private readonly counters: Counters;
  private openClaims = 0;
  private openReceives = 0;

  constructor({ schema }: Pick<Config, 'schema'>) {
    this.meter = new Meter({ schema });
    this.counters = countersOf(this.meter);
  }

  /** Called once, with the handlers of this worker. */
  knows(handlers: readonly { readonly name: string; readonly types: readonly string[] }[]): void {
    for (const { name, types } of handlers) {
      this.counters.skips.add(0, name);
      for (const reason of DEFERRALS) this.counters.deferredHandlings.add(0, name, reason);
      this.counters.exhausted.add(0, name);
      this.counters.endToEnd.observe(0, 0, name);
      for (const attempt of ['first', 'retry']) this.counters.attempts.add(0, name, attempt);
      for (const type of types) {
        this.counters.failures.add(0, name, type);
        this.counters.durations.observe(0, 0, name, type);
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
      this.counters.claims.add(1, result.kind);
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
    this.counters.claimed.add(rows);
  }

  /** An event was acknowledged so many milliseconds after it had been claimed. */
  acknowledged(ms: number): void {
    this.counters.publishLatency.observe(ms / 1_000, 1);
  }

  passPublished({ published, duplicates }: Pick<BatchOutcome, 'published' | 'duplicates'>): void {
    this.counters.published.add(published);
    this.counters.duplicates.add(duplicates);
  }

  settled({ done, deferred, dead, returned, retrying = 0, lost }: Settled): void {
    this.counters.settledRows.add(done, 'done');
    this.counters.settledRows.add(deferred, 'deferred');
    this.counters.settledRows.add(dead, 'dead');
    this.counters.settledRows.add(returned, 'returned');
    this.counters.settledRows.add(retrying, 'retrying');
    this.counters.lost.add(lost, 'outbox');
  }

  rowsTakenOver(rows: number): void {
    this.counters.takenOver.add(rows, 'outbox');
  }

  ledgerClaimLost(): void {
    this.counters.lost.add(1, 'ledger');
  }

  ledgerClaimTakenOver(): void {
    this.counters.takenOver.add(1, 'ledger');
  }

  private messages({ received, handled, handedOver, returned }: Counts): void {
    this.counters.received.add(received, 'received');
    this.counters.received.add(handled, 'handled');
    this.counters.received.add(handedOver, 'handed over');
    this.counters.received.add(returned, 'returned');
  }

  ledgerSkip(handler: string): void {
    this.counters.skips.add(1, handler);
  }

  /** Both names are bounded by the code of the handlers. One that was interrupted is given back, and is no failure. */
  handlerEnded(handler: string, eventType: string, attempt: number, result: RunResult['kind'], ms: number): void {
    this.counters.attempts.add(1, handler, attempt === 1 ? 'first' : 'retry');
    this.counters.durations.observe(ms / 1_000, 1, handler, eventType);
    if (result === 'failed') this.counters.failures.add(1, handler, eventType);
  }

  /** The effect is there, so many milliseconds after the event was due. */
  handled(handler: string, ms: number): void {
    // Of an event of a foreign publisher nobody knows when it was due.
    if (!Number.isNaN(ms)) this.counters.endToEnd.observe(Math.max(0, ms) / 1_000, 1, handler);
  }

  handlingDeferred(handler: string, reason: Deferral): void {
    this.counters.deferredHandlings.add(1, handler, reason);
  }

  handlerExhausted(handler: string): void {
    this.counters.exhausted.add(1, handler);
  }

  runStarted(by: 'fast path' | 'sweep', count = 1): void {
    this.counters.runStarts.add(count, by);
  }

  swept(result: 'done' | 'failed'): void {
    this.counters.sweeps.add(1, result);
  }

  /** A part of the clean-up has ended. @param rows that it has removed, also where it failed then */
  pruned(kind: Kind, result: 'done' | 'failed', rows: number): void {
    this.counters.prunes.add(1, kind, result);
    this.counters.prunedRows.add(rows, kind);
  }
}
