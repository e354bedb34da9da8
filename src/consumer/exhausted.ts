import { EXHAUSTED } from '../handlers/tellAttempt';
import type { EventFields, Logger } from '../logger';

/** Bounded: more events than an operator would ever read of at once. */
const REMEMBERED = 10_000;

/** `attempt` counts deliveries of the broker. */
export interface Exhausted extends Omit<EventFields, 'handler'> {
  /** Absent when nobody could say who takes the event. */
  readonly handler?: string;
  readonly reason: string;
}

/**
 * The line that alerts are built on, once for each handler of an event and worker: final delivery, advisory and look may
 * all come upon the same one (C30).
 */
export class ExhaustedLog {
  private readonly told = new Set<string>();

  constructor(private readonly logger: Logger) {}

  tell(exhausted: Exhausted): void {
    const { eventId, handler = '' } = exhausted;
    const key = `${eventId} ${handler}`;
    if (this.told.has(key)) return;
    const [oldest] = this.told;
    if (oldest !== undefined && this.told.size >= REMEMBERED) this.told.delete(oldest);
    this.told.add(key);
    this.logger.error(exhausted, EXHAUSTED);
  }
}
