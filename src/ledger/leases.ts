import type { Logger } from '../logger';
import type { Metrics } from '../telemetry/metrics';
import type { Database } from '../postgres/database';
import type { LedgerClaim } from './claim';
import { ledgerKey, renewLedger } from './finish';

/**
 * Whether a claim is ours no more, and why. Not an `AbortSignal`, which would cost more than all else that is kept of an
 * event; whoever runs its handler listens, one at a time.
 */
export interface Loss {
  reason: string | undefined;
  listener: ((reason: string) => void) | undefined;
}

interface Held {
  readonly claim: LedgerClaim;
  readonly loss: Loss;
  /** By this process's monotonic clock, from before the statement that claimed or renewed it. */
  since: number;
}

/**
 * The claims that this worker holds, renewed all at once. A claim that another worker has taken over, or whose lease must
 * be over since no renewal came through, is reported lost, so that its handler stops before somebody else begins.
 */
export class Leases {
  private readonly held = new Map<string, Held>();
  private readonly timer: NodeJS.Timeout;
  private renewing = false;

  constructor(
    private readonly db: Database,
    private readonly times: { leaseMs: number; renewMs: number },
    private readonly logger: Logger,
    private readonly metrics?: Metrics | undefined,
  ) {
    // Shorter than the renewal: what it finds out by itself is that no renewal came through.
    this.timer = setInterval(() => void this.tick(), Math.max(50, times.renewMs / 4)).unref();
  }

  /** @param since when the statement that claimed it was sent, by `performance.now()` */
  hold(claim: LedgerClaim, since: number): Loss {
    const loss: Loss = { reason: undefined, listener: undefined };
    this.held.set(ledgerKey(claim), { claim, loss, since });
    return loss;
  }

  letGo(claim: LedgerClaim): void {
    const key = ledgerKey(claim);
    // A process that was frozen may hold a newer claim of the same handling by now.
    if (this.held.get(key)?.claim.startedAt === claim.startedAt) this.held.delete(key);
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async tick(): Promise<void> {
    const now = performance.now();
    for (const held of this.held.values()) {
      if (now - held.since > this.times.leaseMs - this.times.renewMs / 2)
        this.lose(held, 'its ledger lease could not be renewed in time');
    }
    const due = [...this.held.values()].some(({ since }) => now - since >= this.times.renewMs);
    if (!due || this.renewing) return;
    this.renewing = true;
    try {
      await this.renew();
    } catch (error) {
      this.logger.debug(`Ledger leases could not be renewed: ${(error as Error).message}`);
    } finally {
      this.renewing = false;
    }
  }

  private async renew(): Promise<void> {
    const asked = [...this.held.values()];
    const since = performance.now();
    const claims = asked.map(({ claim }) => claim);
    const ours = await renewLedger((text, values) => this.db.query(text, values), claims, this.times.leaseMs);
    for (const held of asked) {
      if (ours.has(ledgerKey(held.claim))) held.since = since;
      // Finished or released while the renewal was under way: not lost.
      else if (this.held.get(ledgerKey(held.claim)) === held)
        this.lose(held, 'another worker took its ledger claim over');
    }
  }

  private lose(held: Held, reason: string): void {
    this.held.delete(ledgerKey(held.claim));
    this.metrics?.ledgerClaimLost();
    held.loss.reason = reason;
    held.loss.listener?.(reason);
  }
}
