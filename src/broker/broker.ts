import type { ClaimedEvent } from '../event';

/** What became of one publish. */
export type Outcome =
  /** Acknowledged; `duplicate` when the broker had the event id already, which is as good. `unhandled`: nobody takes it. */
  | { readonly kind: 'published'; readonly duplicate: boolean; readonly unhandled?: boolean }
  /** Backend `db`: a handler has not succeeded, and `deliveries` says what becomes of it. */
  | { readonly kind: 'handed over' }
  /** The event or its stream could not be served now; others can. */
  | { readonly kind: 'later'; readonly reason: string }
  /** No answer in time, from a broker that is there: stored or not, nobody knows. Same id again. */
  | { readonly kind: 'unanswered'; readonly reason: string }
  /** The broker can never take it as it is. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The broker is away, for this event and for all others. */
  | { readonly kind: 'away'; readonly reason: string };

export type Settle = (event: ClaimedEvent, outcome: Outcome) => void;

/** Where the relay publishes to. */
export interface Broker {
  /** What is known without asking; `ready` asks. */
  readonly up: boolean;
  /** `null` when events can be published now, else the reason in a sentence. Answers within two seconds. */
  ready(): Promise<string | null>;
  /**
   * Publishes in the order given, and calls `settle` exactly once for each event, in any order. What
   * waits behind a batch without an answer settles as away at once, and nothing begins later than two publish time-outs
   * after the call; so all is settled within five of them and 8 s for pings (33 s by default). Never rejects. May be called again before it resolves: order is kept across calls.
   */
  publish(events: readonly ClaimedEvent[], settle: Settle): Promise<void>;
  /** How many more events it takes now. Default: any number. */
  room?(): number;
  /** Resolves when there is room again, when `signal` aborts, or after `ms`. */
  whenRoomy?(ms: number, signal: AbortSignal): Promise<void>;
  /** Calls `listener` whenever the broker answers again after it was away. */
  onBack(listener: () => void): void;
  close(): Promise<void>;
}
