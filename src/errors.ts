/** The settings cannot be used. Lists every problem, so that one restart is enough to mend them. */
export class ConfigError extends Error {
  readonly kind = 'config';
  constructor(readonly problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n  ${problems.join('\n  ')}`,
    );
    this.name = 'ConfigError';
  }
}

export type EnqueueErrorKind =
  | 'invalid-event'
  | 'invalid-type'
  | 'invalid-text'
  | 'invalid-headers'
  | 'circular'
  | 'unsafe-number'
  | 'too-large'
  | 'invalid-payload'
  | 'duplicate-event-id';

/**
 * An event could never be delivered as it is, so it was refused before any SQL ran: the caller's transaction is
 * untouched and can be rolled back or go on without the event.
 */
export class EnqueueError extends Error {
  constructor(
    readonly kind: EnqueueErrorKind,
    /** Position of the refused event in the list that was passed. */
    readonly index: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(`Event ${index} was not enqueued: ${message}`, options);
    this.name = 'EnqueueError';
  }
}

/** A handler cannot be used as it was defined, or not beside the others. Thrown while the worker is put together. */
export class HandlerError extends Error {
  readonly kind = 'handler';
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'HandlerError';
  }
}

/** The database schema cannot be used by this build. */
export class MigrationError extends Error {
  constructor(
    readonly kind: 'newer-database' | 'outdated-database' | 'unreadable' | 'failed',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'MigrationError';
  }
}

/** Thrown by a `publish` callback of `drainOnce`: the broker could not take the event now; its row stays pending. */
export class PublishError extends Error {
  readonly kind = 'publish';
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PublishError';
  }
}

/** Thrown by a `publish` callback of `drainOnce`: the event can never be published; its row becomes a dead letter. */
export class ExhaustedError extends Error {
  readonly kind = 'exhausted';
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ExhaustedError';
  }
}

/** A worker's settings differ from those of the running relay. Starting anyway would publish elsewhere or twice. */
export class RelayMismatchError extends Error {
  readonly kind = 'relay-mismatch';
  constructor(message: string) {
    super(message);
    this.name = 'RelayMismatchError';
  }
}

/** An event, or one of its handlers, was given up: nothing more happens until an operator re-emits it. */
export class DeadLetterError extends Error {
  readonly kind = 'dead-letter';
  constructor(
    readonly eventId: string,
    /** Whose attempts ran out; null when the relay gave the event up. */
    readonly handler: string | null,
    readonly reason: string,
  ) {
    super(`The event ${eventId} is a dead letter: ${handler ?? 'the relay'} gave it up (${reason})`);
    this.name = 'DeadLetterError';
  }
}

/** The time was over before the handlers of an event were done. It may still be handled. */
export class NotHandledError extends Error {
  readonly kind = 'not-handled';
  constructor(
    readonly eventId: string,
    readonly timeoutMs: number,
    /** What was not done yet, in words. */
    readonly open: string,
  ) {
    super(`The event ${eventId} was not handled within ${timeoutMs} ms: ${open}`);
    this.name = 'NotHandledError';
  }
}

/** There is no handler to wait for. Waiting would end in a time-out only. */
export class UnknownHandlerError extends Error {
  readonly kind = 'unknown-handler';
  constructor(message: string) {
    super(message);
    this.name = 'UnknownHandlerError';
  }
}

/** Outbox, stream and handlers could not be compared. Says what is missing. */
export class ReconcileError extends Error {
  constructor(
    readonly kind: 'no-stream' | 'broker-away' | 'refused' | 'too-many',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ReconcileError';
  }
}

/** Rows that are to be put away before they are removed could not be: they stay. */
export class ArchiveError extends Error {
  readonly kind = 'archive';
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ArchiveError';
  }
}
