/** A class of findings: how many there are, and the first of them. */
export interface Findings<T> {
  readonly count: number;
  /** At most `limit`. */
  readonly shown: readonly T[];
}

/** The outbox says that it is published, and the stream does not hold it, though its limits would have kept it. */
export interface LostEvent {
  readonly eventId: string;
  readonly eventType: string;
  readonly publishedAt: string;
}

/** A further copy of an event in the stream. */
export interface DoubledEvent {
  readonly eventId: string;
  readonly eventType: string;
  /** Of the copy. */
  readonly sequence: number;
}

/** A recorded handler of the event's type has neither done it, nor waits, nor is dead, nor was skipped. */
export interface UnhandledEvent {
  readonly eventId: string;
  readonly eventType: string;
  readonly handler: string;
}

export interface DeadEvent {
  readonly eventId: string;
  readonly eventType: string;
  /** Who gave it up; null for the relay. */
  readonly handler: string | null;
  readonly reason: string;
}

/** What was on its way when the comparison began. Of deliveries: the most that were at any time of it. */
export interface UnderWay {
  /** Rows that wait to be published, and are due. */
  readonly pending: number;
  readonly deferred: number;
  readonly processing: number;
  /** Rows of the `db` backend whose handlers are retried. */
  readonly retrying: number;
  /** Handlers of events that will be tried again. */
  readonly deliveries: number;
  /** Handlings that are at work, or whose message the handlers' consumer has not acknowledged yet. */
  readonly handlings: number;
  /** Rows that are due later. They do not keep the rest from being settled. */
  readonly scheduled: number;
}

/** What can be told neither right nor wrong. */
export interface NotJudged {
  /** Published events that the stream may have dropped by its own limits, or that are older than it. */
  readonly published: number;
  /**
   * Handlings that are not known to be done, of events that are older than what the ledger remembers, or than the time at
   * which the handler was recorded (or that nobody knows), or whose message the stream has dropped so lately that it may be
   * in hand, or that the handlers' consumer may never have been given.
   */
  readonly handlings: number;
}

export type Verdict = 'agrees' | 'faults' | 'not settled';

export interface Reconciliation {
  /** `faults` before `not settled` before `agrees`. Dead letters are no fault, and nothing is settled while there are any. */
  readonly verdict: Verdict;
  readonly backend: 'nats' | 'db';
  readonly schema: string;
  /** Null for backend `db`. */
  readonly stream: string | null;
  /** The database's time at which the comparison began: what came later is not looked at. */
  readonly asOf: string;
  readonly since: string | null;
  readonly checked: {
    /** Rows of the outbox that were done. */
    readonly events: number;
    readonly messages: number;
    /** Pairs of an event and a handler. */
    readonly handlings: number;
  };
  readonly lost: Findings<LostEvent>;
  readonly doubled: Findings<DoubledEvent>;
  readonly unhandled: Findings<UnhandledEvent>;
  readonly dead: Findings<DeadEvent>;
  /** Messages of the stream that stand in no outbox: legal, and to be handled like all others. */
  readonly foreign: number;
  readonly underWay: UnderWay;
  readonly notJudged: NotJudged;
}

export function verdictOf(
  found: Pick<Reconciliation, 'lost' | 'doubled' | 'unhandled' | 'dead' | 'underWay'>,
): Verdict {
  const { lost, doubled, unhandled, dead, underWay } = found;
  if (lost.count + doubled.count + unhandled.count > 0) return 'faults';
  const { pending, deferred, processing, retrying, deliveries, handlings } = underWay;
  const open = pending + deferred + processing + retrying + deliveries + handlings;
  return open + dead.count > 0 ? 'not settled' : 'agrees';
}
