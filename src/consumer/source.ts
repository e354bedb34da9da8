import type { Counts } from './outcome';

/** Where events are received from. Hands them to its intake, and settles them with the broker when they are through. */
export interface Source {
  /** `null` when messages can be received now, else the reason in a sentence. Answers within four seconds. */
  ready(): Promise<string | null>;
  /** Begins to receive; nothing comes before `Flow.want`. */
  open(): Flow;
  /** What came and what became of it since the last call. */
  takeCounts(): Counts;
  /** Reply subjects of messages that are through and could not be acknowledged: handed on, and forgotten here. */
  takeUnsettled(): string[];
  /**
   * Acknowledges by reply subject, also what another worker received. Safe to repeat.
   *
   * @throws Error while the broker is away
   */
  acknowledge(replies: readonly string[]): Promise<void>;
  /** Gives back at once whatever is still in hand. For a worker that has stopped. */
  close(): Promise<void>;
}

/** One receiving, from `open` to `close`. */
export interface Flow {
  /** Messages that came so far. */
  readonly received: number;
  /** Messages that may still come without being asked for again. */
  readonly outstanding: number;
  /** Why nothing comes any more. */
  readonly lost: string | null;
  /** Tops up what may come to `room` messages; what is not used ends after `ms`. */
  want(room: number, ms: number): void;
  /** Resolves when something came or was lost, when `signal` aborts, or after `ms`. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** After it no further message comes. What was under way is handed in before it resolves. */
  close(): Promise<void>;
}

/** Counts what passes through a source. */
export class Tally {
  private counts = NOTHING;

  add(kind: keyof Counts, count = 1): void {
    this.counts = { ...this.counts, [kind]: this.counts[kind] + count };
  }

  take(): Counts {
    const taken = this.counts;
    this.counts = NOTHING;
    return taken;
  }
}

const NOTHING: Counts = { received: 0, handled: 0, handedOver: 0, returned: 0 };
