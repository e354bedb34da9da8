import type { EventFields, Logger } from '../logger';

/** Bounded: more events than an operator would ever read of at once. */
const REMEMBERED = 10_000;

export interface Exhausted extends EventFields {
  /** Of the broker: each is an attempt. */
  readonly attempt: number;
  readonly reason: string;
}

/**
 * The line that alerts are built on, once for each event and worker: final delivery, advisory and look may all come
 * upon the same one (C30).
 */
export class ExhaustedLog {
  private readonly told = new Set<string>();

  constructor(private readonly logger: Logger) {}

  tell(exhausted: Exhausted): void {
    const { eventId } = exhausted;
    if (this.told.has(eventId)) return;
    const [oldest] = this.told;
    if (oldest !== undefined && this.told.size >= REMEMBERED) this.told.delete(oldest);
    this.told.add(eventId);
    this.logger.error(exhausted, 'event exhausted max deliveries');
  }
}
