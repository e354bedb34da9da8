export { loadConfig, type Config } from './config';
export {
  ArchiveError,
  ConfigError,
  DeadLetterError,
  EnqueueError,
  ExhaustedError,
  HandlerError,
  MigrationError,
  NotHandledError,
  PublishError,
  ReconcileError,
  RelayMismatchError,
  UnknownHandlerError,
  type EnqueueErrorKind,
} from './errors';
export type { NewEvent } from './event';
export {
  defineEvent,
  type EventDefinition,
  type EventFields,
  type EventOptions,
  type Upcast,
} from './handlers/defineEvent';
export {
  DEFAULT_HANDLER_TIMEOUT_MS,
  defineHandler,
  type EventOf,
  type EventSource,
  type HandledEvent,
  type Handler,
  type HandlerContext,
  type HandlerOptions,
  type Transaction,
  type TransactionContext,
  type TransactionalHandlerOptions,
} from './handlers/defineHandler';
export type { FailureAbout, RedactFailure } from './handlers/failureText';
export { retryBackoff } from './backoff';
export { enqueueEvents, type EnqueueOptions } from './outbox/enqueue';
export type { DeadLetterOptions } from './deadLetters/filter';
export { listDead, type DeadLetter } from './deadLetters/list';
export { reemit, type Reemitted, type RevivedEvent } from './deadLetters/reemit';
export { reemitAll, type ReemitAllOptions } from './deadLetters/reemitAll';
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
export type { Archive, ArchiveBatch } from './retention/archive';
export { reconcile, type ReconcileOptions } from './reconcile/reconcile';
export type {
  DeadEvent,
  DoubledEvent,
  Findings,
  LostEvent,
  NotJudged,
  Reconciliation,
  UnderWay,
  UnhandledEvent,
  Verdict,
} from './reconcile/result';
export { installRuntime } from './temporal/runtime';
export { waitUntilHandled, type WaitUntilHandledOptions } from './waitUntilHandled';
export { createWorker, type CreateWorkerOptions, type OutboxWorker } from './createWorker';
export type { Check, Readiness } from './telemetry/readiness';
export type { TelemetryMode } from './telemetry/telemetry';
export { runWorker, type RunWorkerOptions } from './runWorker';
export * as deliveryMessages from './workflows/deliveryMessages';
export * as consumerMessages from './workflows/consumerMessages';
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
