import type { Database } from '../postgres/database';
import { Beginnings } from './beginnings';
import { findOpen, type Handling, type OpenHandling } from './findOpen';
import type { Start } from './readStart';
import type { UnhandledEvent } from './result';
import { Tally } from './tally';

/** An event that is, or may be, through its handlers. */
export interface HandledEvent {
  readonly eventId: string;
  readonly eventType: string;
  /** It was not handled before, in milliseconds by the database's clock. */
  readonly dueMs: number;
  /**
   * `finished`: its message was acknowledged, or its row is done by backend `db`. `gone`: the stream holds it no more, so
   * nobody will be given it. `open`: its message may still be given out, or be in hand.
   */
  readonly state: 'finished' | 'gone' | 'open';
}

/** Pairs asked of the database by one statement. */
const CHUNK = 5_000;

/**
 * Compares events with ledger and deliveries. The events must have been finished before this reads: whoever finishes one
 * has written ledger or deliveries before, so what is missing now was missing then.
 */
export class Handlings {
  checked = 0;
  underWay = 0;
  notJudged = 0;
  readonly unhandled: Tally<UnhandledEvent>;
  private readonly byType = new Map<string, string[]>();
  private readonly beginnings: Beginnings;

  constructor(
    private readonly db: Database,
    start: Start,
    private readonly retentionMs: number,
    limit: number,
  ) {
    this.unhandled = new Tally(limit);
    this.beginnings = new Beginnings(db, start);
    for (const [handler, types] of Object.entries(start.recorded)) {
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
        if (event) await this.judge(open, event);
      }
    }
  }

  private async judge({ handler, inProgress, forgotten, notBeforeMs }: OpenHandling, event: HandledEvent) {
    const { eventId, eventType, state } = event;
    if (inProgress || state === 'open') this.underWay++;
    else if (!forgotten && (await this.beginnings.wasThere(handler, eventType, notBeforeMs, state === 'gone')))
      this.unhandled.add({ eventId, eventType, handler });
    else this.notJudged++;
  }
}
