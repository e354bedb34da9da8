/*
 * For processes that only write events: loads neither Temporal nor NATS, so they start fast and run while both are
 * down or not even reachable.
 */
export { DeadLetterError, EnqueueError, NotHandledError, UnknownHandlerError, type EnqueueErrorKind } from './errors';
export type { NewEvent } from './event';
export {
  defineEvent,
  type EventDefinition,
  type EventFields,
  type EventOptions,
  type Upcast,
} from './handlers/defineEvent';
export { enqueueEvents, type EnqueueOptions } from './outbox/enqueue';
export type { Queryable } from './postgres/database';
export { waitUntilHandled, type WaitUntilHandledOptions } from './waitUntilHandled';
