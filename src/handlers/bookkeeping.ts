import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config';
import { handOver, type HandedOver, type HandOver } from '../deliveries/handOver';
import { claimLedger, type DueKey, type LedgerAnswer, type LedgerClaim } from '../ledger/claim';
import { finishLedger, ledgerKey, releaseLedger, type Runner } from '../ledger/finish';
import type { Leases, Loss } from '../ledger/leases';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import { Gather } from './gather';

const RETRY_MS = 500;

/** The worker had to end before it could be written: whoever gets the event next finds the claim, and its worker lost. */
export const UNWRITTEN = Symbol('unwritten');

/**
 * What the fast path reads and writes about its handlings. Patient: while PostgreSQL is away nothing is given up, since a
 * handling whose outcome is not written would count as lost, or run again.
 */
export class Bookkeeping {
  /** A statement has failed and not succeeded since: nothing new should be begun. */
  away = false;

  private readonly finished: Gather<LedgerClaim, boolean | typeof UNWRITTEN>;
  private readonly handedOver: Gather<HandOver, HandedOver | undefined | typeof UNWRITTEN>;
  private readonly released: Gather<LedgerClaim, undefined>;
  private readonly run: Runner;

  constructor(
    private readonly db: Database,
    private readonly config: Config,
    private readonly leases: Leases,
    private readonly logger: Logger,
    private readonly signals: { readonly stopping: AbortSignal; readonly ending: AbortSignal },
    private readonly onBack: () => void,
  ) {
    this.run = (text, values, how) => db.query(text, values, how);
    this.finished = new Gather((claims) => this.finishAll(claims));
    this.handedOver = new Gather(
      (given) => this.handOverAll(given),
      ({ event }) => event.payload.length,
    );
    this.released = new Gather(async (claims) => {
      await this.patiently(signals.ending, () => releaseLedger(this.run, claims));
      return claims.map(() => undefined);
    });
  }

  /** @returns undefined when the worker stops: nothing was begun */
  claim(keys: readonly DueKey[], relaxed: boolean): Promise<LedgerAnswer | undefined> {
    const times = { ...this.config.handling, relaxed };
    return this.patiently(this.signals.stopping, () => claimLedger(this.db, keys, times));
  }

  /** Keeps a claim alive. */
  hold(claim: LedgerClaim, since: number): Loss {
    return this.leases.hold(claim, since);
  }

  letGo(claim: LedgerClaim): void {
    this.leases.letGo(claim);
  }

  /** @returns false when the claim was not ours any more */
  async finish(claim: LedgerClaim): Promise<boolean | typeof UNWRITTEN> {
    const ours = await this.finished.add(claim);
    this.leases.letGo(claim);
    return ours;
  }

  /** Gives the claim up with the hand-over. @returns undefined when the claim was not ours any more */
  async handOver(given: HandOver): Promise<HandedOver | undefined | typeof UNWRITTEN> {
    const { event, handler, startedAt } = given;
    const delivery = await this.handedOver.add(given);
    if (startedAt !== null) this.leases.letGo({ eventId: event.eventId, handler, startedAt });
    return delivery;
  }

  async release(claim: LedgerClaim): Promise<void> {
    await this.released.add(claim);
    this.leases.letGo(claim);
  }

  private async finishAll(claims: readonly LedgerClaim[]): Promise<(boolean | typeof UNWRITTEN)[]> {
    const finished = await this.patiently(this.signals.ending, () => finishLedger(this.run, claims));
    return claims.map((claim) => (finished ? finished.has(ledgerKey(claim)) : UNWRITTEN));
  }

  private async handOverAll(given: readonly HandOver[]): Promise<(HandedOver | undefined | typeof UNWRITTEN)[]> {
    const rows = await this.patiently(this.signals.ending, () => handOver(this.db, given));
    if (!rows) return given.map(() => UNWRITTEN);
    const byKey = new Map(rows.map((row) => [ledgerKey(row), row]));
    return given.map(({ event, handler }) => byKey.get(ledgerKey({ eventId: event.eventId, handler })));
  }

  private async patiently<T>(giveUp: AbortSignal, statement: () => Promise<T>): Promise<T | undefined> {
    for (;;) {
      try {
        const result = await statement();
        if (this.away) {
          this.away = false;
          this.logger.info('The ledger can be read and written again');
          this.onBack();
        }
        return result;
      } catch (error) {
        if (giveUp.aborted) return undefined;
        if (!this.away)
          this.logger.warn(`The ledger cannot be used (${(error as Error).message}); handlers wait for it`);
        this.away = true;
        await sleep(RETRY_MS, undefined, { signal: giveUp }).catch(() => undefined);
      }
    }
  }
}
