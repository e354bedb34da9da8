import type { NewEvent } from 'temporal-outbox/producer';
import type { ReviewOfYear, WrapUp, WrapUpSummary } from '../domain/wrapUp';

/** States go from requested over generating to completed, and never back. */
export interface WrapUps {
  find(id: string): Promise<WrapUp | undefined>;
  /** @returns false when it was requested before, whatever came of it; then no event is written */
  request(wrapUp: Pick<WrapUp, 'id' | 'userId' | 'year'>, events: readonly NewEvent[]): Promise<boolean>;
  /** From requested to generating; in any other state nothing. */
  begin(id: string): Promise<void>;
  reviewsOf(userId: string, year: number): Promise<ReviewOfYear[]>;
  /** From generating to completed, in one transaction with the events. @returns false in any other state: nothing is written */
  complete(id: string, summary: WrapUpSummary, events: readonly NewEvent[]): Promise<boolean>;
}
