import type { EventRecord } from '../event';

/** An event on its way to the handlers. */
export interface IncomingEvent extends EventRecord {
  /**
   * Where it came from: `outbox`, or `<stream>/<sequence>`. An event of a stream may stand in the outbox too, which the
   * database finds out when it has to.
   */
  readonly source: string;
}

/** What became of an event in the fast path. */
export type HandlingOutcome =
  /** Each of its handlers has its effect, or was skipped. `handlers` is 0 when nobody takes events of this type. */
  | { readonly kind: 'handled'; readonly handlers: number }
  /** At least one handler failed, waits or is dead: that stands in `deliveries`, and has its run. */
  | { readonly kind: 'handed over' }
  /**
   * Not begun, or interrupted by the worker's stop: give it back as it was. No attempt is spent. `handlers` are those
   * without an outcome; absent when nobody could say who takes it.
   */
  | { readonly kind: 'returned'; readonly reason: string; readonly handlers?: readonly string[] };

export type SettleHandling<Event extends IncomingEvent> = (event: Event, outcome: HandlingOutcome) => void;
