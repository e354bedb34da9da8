export { loadConfig, type Config } from './config';
export {
  ConfigError,
  EnqueueError,
  ExhaustedError,
  MigrationError,
  PublishError,
  RelayMismatchError,
  type EnqueueErrorKind,
} from './errors';
export type { NewEvent } from './event';
export { retryBackoff } from './backoff';
export { enqueueEvents, type EnqueueOptions } from './outbox/enqueue';
export { listDead, reemit, reemitAll, type DeadLetter, type DeadLetterOptions } from './outbox/deadLetters';
export { openDatabase, type Database, type Queryable } from './postgres/database';
export { migrate, type MigrateResult } from './postgres/migrate';
export { createLogger, type Logger } from './logger';
export { installRuntime } from './temporal/runtime';
export { runWorker, type RunWorkerOptions } from './worker';
export * as relayMessages from './workflows/messages';
