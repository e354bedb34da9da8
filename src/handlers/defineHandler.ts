import { HandlerError } from '../errors';
import { NAME } from '../event';
import { isEventDefinition, type EventDefinition } from './defineEvent';

/**
 * Longer than any call to a service should take, and so short that a call that hangs is tried again while somebody
 * still waits for it.
 */
export const DEFAULT_HANDLER_TIMEOUT_MS = 60_000;

/** Time-outs and the leases beside them are added to clocks: past a day a number is a typo. */
const MAX_TIMEOUT_MS = 24 * 60 * 60 * 1_000;

/**
 * Names of the worker's own activities. Each handler is an activity of its name, so that the Temporal UI shows what
 * ran; one named `claim` would be called in place of the relay's. `default` is the SDK's catch-all for names that a
 * worker lacks.
 */
export const RESERVED_ACTIVITY_NAMES: ReadonlySet<string> = new Set([
  'claim',
  'fence',
  'publish',
  'mark',
  'reemit',
  'reemitAll',
  'receive',
  'acknowledge',
  'skip',
  'default',
]);

/** An event as a handler gets it. */
export interface HandledEvent<Type extends string = string, Payload = unknown> {
  readonly eventId: string;
  readonly type: Type;
  /** Of the payload as it is handed over: lifted, where the event was older than its definition. */
  readonly version: number;
  readonly aggregateType: string;
  readonly aggregateId: string;
  readonly companyId: string | null;
  readonly orgUnitId: string | null;
  /** What the schema made of it. Integers past 2^53 are BigInts, digit for digit. */
  readonly payload: Payload;
  readonly headers: Readonly<Record<string, string>>;
  readonly correlationId: string | null;
  readonly causationId: string | null;
  /** ISO 8601 in UTC with microseconds, which a `Date` would lose. */
  readonly occurredAt: string;
}

/** The handler's transaction; `enqueueEvents(tx, …)` takes it. Committed by the worker, with the ledger's entry. */
export interface Transaction {
  query(text: string, values?: unknown[]): Promise<{ rows: any[]; rowCount: number | null }>; // eslint-disable-line @typescript-eslint/no-explicit-any -- `pg`'s own row type
  query(statement: {
    readonly text: string;
    readonly values?: unknown[];
  }): Promise<{ rows: any[]; rowCount: number | null }>; // eslint-disable-line @typescript-eslint/no-explicit-any -- as above
}

export interface HandlerContext {
  /** Aborted at the time-out and when the worker stops: pass it to whatever waits. */
  readonly signal: AbortSignal;
  /** The same at every attempt for this event and handler: what a service needs to see a repeated call as one. */
  readonly idempotencyKey: string;
  /** From 1. */
  readonly attempt: number;
}

export interface TransactionContext {
  readonly tx: Transaction;
  readonly signal: AbortSignal;
  readonly attempt: number;
}

/** A definition, or the bare name of a type, whose payload is then unknown. */
export type EventSource = EventDefinition | string;

/** The events that these sources stand for: a union, told apart by `type`. */
export type EventOf<Source> =
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- matches any of them
  Source extends EventDefinition<infer Type, any, infer Output>
    ? HandledEvent<Type, Output>
    : Source extends string
      ? HandledEvent<Source>
      : never;

interface Common<Events extends readonly EventSource[]> {
  /** `[A-Za-z0-9_-]{1,128}`, unique in a worker. Ledger and deliveries know the handler by it, so renaming one makes a new one. */
  readonly name: string;
  readonly events: Events;
  /** Of one attempt, in milliseconds. Default: 60 s. */
  readonly timeoutMs?: number;
}

/** For effects outside of the database: runs at least once, so it must be idempotent. */
export interface HandlerOptions<Events extends readonly EventSource[]> extends Common<Events> {
  readonly transactional?: false;
  /** Awaited; what it gives is not used. A throw or a rejection is a failed attempt. */
  readonly run: (event: EventOf<Events[number]>, context: HandlerContext) => unknown;
}

/** For effects in the database: they, follow-up events and the ledger's entry commit together, exactly once. */
export interface TransactionalHandlerOptions<Events extends readonly EventSource[]> extends Common<Events> {
  readonly transactional: true;
  /** Awaited; what it gives is not used. A throw or a rejection rolls back, and is a failed attempt. */
  readonly run: (event: EventOf<Events[number]>, context: TransactionContext) => unknown;
}

interface Erased {
  readonly name: string;
  /** Types, in the order given. */
  readonly types: readonly string[];
  /** Of those types that were given with one, by type. */
  readonly definitions: ReadonlyMap<string, EventDefinition>;
  readonly timeoutMs: number;
}

/** A handler as a registry holds it, whatever its events. */
export type Handler =
  | (Erased & {
      readonly transactional: false;
      readonly run: (event: HandledEvent, context: HandlerContext) => unknown;
    })
  | (Erased & {
      readonly transactional: true;
      readonly run: (event: HandledEvent, context: TransactionContext) => unknown;
    });

const defined = new WeakSet<object>();

export function isHandler(value: unknown): value is Handler {
  return typeof value === 'object' && value !== null && defined.has(value);
}

/** @throws HandlerError with every problem of the handler, so that one restart is enough to mend them */
export function defineHandler<const Events extends readonly EventSource[]>(
  options: TransactionalHandlerOptions<Events>,
): Handler;
export function defineHandler<const Events extends readonly EventSource[]>(options: HandlerOptions<Events>): Handler;
export function defineHandler(options: {
  readonly name: string;
  readonly events: readonly EventSource[];
  readonly timeoutMs?: number;
  readonly transactional?: boolean;
  readonly run: (event: never, context: never) => unknown;
}): Handler {
  const { name, events, run, transactional = false, timeoutMs = DEFAULT_HANDLER_TIMEOUT_MS } = options;
  const problems = [...nameProblems(name), ...eventProblems(events)];
  if (typeof run !== 'function') problems.push('`run` must be a function of (event, context)');
  if (typeof transactional !== 'boolean') problems.push('`transactional` must be true or false');
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS)
    problems.push(`timeoutMs ${quote(timeoutMs)} must be a whole number from 1 to ${MAX_TIMEOUT_MS} (24 h)`);
  if (problems.length > 0) throw new HandlerError(`The handler ${quote(name)} cannot be used: ${problems.join('; ')}`);

  const handler = Object.freeze({
    name,
    types: Object.freeze(events.map(typeOf)),
    definitions: new Map(events.filter(isEventDefinition).map((definition) => [definition.type, definition])),
    timeoutMs,
    transactional,
    run,
  }) as unknown as Handler;
  defined.add(handler);
  return handler;
}

function nameProblems(name: unknown): string[] {
  if (typeof name !== 'string' || !NAME.test(name)) return ['its name must match [A-Za-z0-9_-]{1,128}'];
  if (RESERVED_ACTIVITY_NAMES.has(name) || name.startsWith('__temporal_'))
    return ['its name is one of the worker’s own activities; every handler is an activity too, so choose another'];
  return [];
}

function eventProblems(events: unknown): string[] {
  if (!Array.isArray(events) || events.length === 0)
    return ['`events` must list at least one event, as a definition or as the name of its type'];
  const problems: string[] = [];
  const types = new Set<string>();
  events.forEach((source: unknown, index) => {
    if (!isEventDefinition(source) && !(typeof source === 'string' && NAME.test(source))) {
      problems.push(
        `events[${index}] ${quote(source)} is neither what defineEvent gave nor a type name matching [A-Za-z0-9_-]{1,128}`,
      );
      return;
    }
    const type = typeOf(source);
    if (types.has(type)) problems.push(`the event type ${type} is listed twice`);
    types.add(type);
  });
  return problems;
}

function typeOf(source: EventSource): string {
  return typeof source === 'string' ? source : source.type;
}

function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60));
  return typeof value === 'number' ? String(value) : `(${value === null ? 'null' : typeof value})`;
}
