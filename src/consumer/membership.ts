import { retryBackoff } from '../backoff';
import { RelayMismatchError } from '../errors';
import type { Logger } from '../logger';
import type { ConsumerTimings } from './outcome';

export interface MembershipDeps {
  /** Signals the consumer that this worker is there. */
  readonly join: () => Promise<void>;
  readonly timings: Pick<ConsumerTimings, 'ownQueueTimeoutMs' | 'heartbeatTimeoutMs' | 'backoffMaxMs'>;
  readonly logger: Logger;
}

/** Nothing is handled here before Temporal and PostgreSQL are back, and nobody would come to tell of that. */
const OUTAGE_RETRY_MS = 2_000;

/**
 * Keeps this worker among those that the consumer lets receive. A consumer that took the worker for gone does not come
 * back to it: when nothing has been asked of it for long enough, it joins again. A pause or a wait for the broker looks
 * the same from here, so each further time is later, up to the longest wait of the shared schedule. A join that fails is
 * tried again soon.
 */
export class Membership {
  private timer: NodeJS.Timeout | undefined;
  private receiving = 0;
  private tries = 0;
  private left = false;

  constructor(private readonly deps: MembershipDeps) {}

  /**
   * Joins, and sees to it from now on.
   *
   * @throws what `join` throws, the first time: a consumer that this worker must not join
   */
  async start(): Promise<void> {
    await this.deps.join();
    this.watch();
  }

  /** Runs a receive of this worker. */
  async during<T>(run: () => Promise<T>): Promise<T> {
    this.receiving++;
    clearTimeout(this.timer);
    try {
      return await run();
    } finally {
      this.receiving--;
      this.tries = 0;
      this.watch();
    }
  }

  leave(): void {
    this.left = true;
    clearTimeout(this.timer);
  }

  private watch(): void {
    const { ownQueueTimeoutMs, heartbeatTimeoutMs, backoffMaxMs } = this.deps.timings;
    const patience = 2 * ownQueueTimeoutMs + heartbeatTimeoutMs;
    this.joinAfter(retryBackoff(this.tries + 1, patience, Math.max(patience, backoffMaxMs)));
  }

  private joinAfter(ms: number): void {
    clearTimeout(this.timer);
    if (this.left || this.receiving > 0) return;
    this.timer = setTimeout(() => void this.joinAgain(), ms).unref();
  }

  private async joinAgain(): Promise<void> {
    try {
      await this.deps.join();
    } catch (error) {
      this.deps.logger.debug(`The consumer could not be joined again: ${(error as Error).message}`);
      if (!(error instanceof RelayMismatchError)) return this.joinAfter(OUTAGE_RETRY_MS);
    }
    this.tries++;
    this.watch();
  }
}
