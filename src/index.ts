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
export {
  drainAll,
  drainOnce,
  type DrainAllResult,
  type DrainOptions,
  type DrainResult,
  type DrainWarning,
} from './outbox/drain';
export { openDatabase, type Database, type Queryable } from './postgres/database';
export { migrate, type MigrateResult } from './postgres/migrate';
export { createLogger, type Logger } from './logger';
export { installRuntime } from './temporal/runtime';
export { runWorker, type RunWorkerOptions } from './worker';
export * as relayMessages from './workflows/messages';
export type {
  DeadLetterFilter,
  PauseResult,
  ReemitAllResult,
  ReemitRequest,
  ReemitResult,
  RelayState,
  RelayStatus,
  RelayTotals,
} from './workflows/messages';
