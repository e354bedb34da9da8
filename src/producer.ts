/*
 * For processes that only write events: loads neither Temporal nor NATS, so they start fast and run while both are
 * down or not even reachable.
 */
export { EnqueueError, type EnqueueErrorKind } from './errors';
export type { NewEvent } from './event';
export { enqueueEvents, type EnqueueOptions } from './outbox/enqueue';
export type { Queryable } from './postgres/database';
