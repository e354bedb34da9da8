import type { NewEvent } from '../../src/event';
import { events } from '../support/events';

const TYPES = ['ThingHappened', 'InTransaction', 'Outside'];

/** Of all kinds, and fewer than a batch of the broker has. */
export const few: readonly NewEvent[] = events(6, (n) => ({ type: TYPES[n % 3]!, aggregateId: `a${n}` }));

/** More than a lane claims at once, so that some have not been begun when their worker dies. */
export const mixed: readonly NewEvent[] = events(18, (n) => ({ type: TYPES[n % 3]!, aggregateId: `a${n}` }));

/** A backlog: more than a worker takes in at once, and enough for an atomic batch. */
export const many: readonly NewEvent[] = events(60, (n) => ({ type: TYPES[n % 3]!, aggregateId: `a${n}` }));

/** Longer than a lease is renewed and a part of `ack_wait`. */
export const slow = events(24, (n) => ({ type: TYPES[n % 3]!, aggregateId: `a${n}`, payload: { ms: 900 } }));

/** Of the handler that claims ahead, and so many of them that each of two workers has some that it has not begun. */
export const piled = events(60, (n) => ({ type: 'Outside', aggregateId: `a${n}`, payload: { ms: 900 } }));

/** Both handlers fail in their first attempts, so that delivery runs see these through. */
export const fails = (attempts: number, orders: object = {}): readonly NewEvent[] =>
  events(4, (n) => ({ type: TYPES[1 + (n % 2)]!, aggregateId: `a${n}`, payload: { fails: attempts, ...orders } }));

/** The same, waiting in their second attempt until the file is there. */
export const held = (gate: string): readonly NewEvent[] => fails(1, { hold: 2, until: gate });
