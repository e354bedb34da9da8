import type { IncomingEvent, SettleHandling } from '../handlers/incoming';

/** Where received events go: the fast path of this worker. */
export interface Intake {
  /** How many more events may be handed in now. 0 while the ledger cannot be read (PostgreSQL away). */
  room(): number;
  /** Resolves when there is room, when `signal` aborts, or after `ms`. */
  whenRoomy(ms: number, signal: AbortSignal): Promise<void>;
  /**
   * Begins to handle; `settle` is called exactly once for each event, in any order, minutes later when a handler is
   * slow. A few events more than there was room for must be taken: they were under way when the room shrank.
   */
  handle<E extends IncomingEvent>(events: readonly E[], settle: SettleHandling<E>): void;
}
