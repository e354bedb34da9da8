import { enqueueEvents } from '../../src/outbox/enqueue';
import type { NewEvent } from '../../src/event';
import type { Database } from '../../src/postgres/database';
import { producerOf } from './database';

export function event(over: Partial<NewEvent> = {}): NewEvent {
  return { type: 'ThingHappened', aggregateType: 'thing', aggregateId: 'a', payload: { n: 1 }, ...over };
}

export function events(count: number, over: (index: number) => Partial<NewEvent> = () => ({})): NewEvent[] {
  return Array.from({ length: count }, (_, index) => event({ payload: { n: index }, ...over(index) }));
}

/** Enqueues in one transaction of its own. */
export function enqueue(db: Database, given: readonly NewEvent[]): Promise<string[]> {
  return enqueueEvents(producerOf(db).pool, given, { schema: db.schema });
}
