import type { Database } from '../postgres/database';
import { Beginnings } from './beginnings';
import { findOpen, type Handling, type OpenHandling } from './findOpen';
import type { Recorded } from './readStart';
import type { Findings, UnhandledEvent } from './result';
import { Tally } from './tally';

/** An event that is, or may be, through its handlers. */
export interface HandledEvent {
  readonly eventId: string;
  readonly eventType: string;
  /** It was not handled before, in milliseconds by the database's clock. */
  readonly dueMs: number;
  /**
   * `finished`: its message was acknowledged, or its row is done by backend `db`, or the stream holds it no more and nobody
   * will be given it. `open`: its message may still be given out, or be in hand. `unsure`: the stream does not hold it, and
   * it may be in hand, or may never have been anybody's to handle.
   */
  readonly state: 'finished' | 'open' | 'unsure';
}

/** Pairs asked of the database by one statement. */
const CHUNK = 5_000;

/**
 * Compares events with ledger and deliveries. The events must have been finished before this reads: whoever finishes one
 * has written ledger or deliveries before, so what is missing now was missing then.
 */
export class Handlings {
  checked = 0;
  /** In the ledger, or with a message that is not acknowledged. */
  underWay = 0;
  /** With a delivery that waits, or is dead. */
  waiting = 0;
  dead = 0;
  notJudged = 0;
  /** By handler and type, so that what was found of a handler can be taken back. */
  private readonly missing = new Map<string, Tally<UnhandledEvent>>();
  private readonly byType = new Map<string, string[]>();
  private readonly beginnings: Beginnings;

  constructor(
    private readonly db: Database,
    recorded: Recorded,
    private readonly retentionMs: number,
    private readonly limit: number,
  ) {
    this.beginnings = new Beginnings(recorded);
    for (const [handler, types] of Object.entries(recorded.events)) {
      for (const type of types) this.byType.set(type, [...(this.byType.get(type) ?? []), handler]);
    }
  }

  /** @param events each id once */
  async check(events: readonly HandledEvent[]): Promise<void> {
    const byId = new Map(events.map((event) => [event.eventId, event]));
    const asked: Handling[] = events.flatMap(({ eventId, eventType, dueMs }) =>
      (this.byType.get(eventType) ?? []).map((handler) => ({ eventId, handler, dueMs })),
    );
    this.checked += asked.length;
    for (let at = 0; at < asked.length; at += CHUNK) {
      for (const open of await findOpen(this.db, asked.slice(at, at + CHUNK), this.retentionMs)) {
        const event = byId.get(open.eventId);
        if (event) this.judge(open, event);
      }
    }
  }

  /**
   * What is unhandled, by the recorded set as it is after all reading: a handler that was forgotten meanwhile was not given
   * what was finished then.
   */
  settle(later: Recorded): Findings<UnhandledEvent> {
    const now = new Beginnings(later);
    const found = new Tally<UnhandledEvent>(this.limit);
    for (const tally of this.missing.values()) {
      const [{ handler, eventType } = { handler: '', eventType: '' }] = tally.shown;
      if (this.beginnings.isStillThere(handler, eventType, now)) found.addAll(tally);
      else this.notJudged += tally.count;
    }
    return found.found;
  }

  private judge({ handler, state, forgotten }: OpenHandling, event: HandledEvent): void {
    const { eventId, eventType, dueMs } = event;
    if (state === 'waiting') this.waiting++;
    else if (state === 'dead') this.dead++;
    else if (state === 'in progress' || event.state === 'open') this.underWay++;
    else if (event.state === 'finished' && !forgotten && this.beginnings.wasThere(handler, eventType, dueMs))
      this.tallyOf(handler, eventType).add({ eventId, eventType, handler });
    else this.notJudged++;
  }

  private tallyOf(handler: string, type: string): Tally<UnhandledEvent> {
    const key = `${handler} ${type}`;
    let tally = this.missing.get(key);
    if (!tally) this.missing.set(key, (tally = new Tally(this.limit)));
    return tally;
  }
}
