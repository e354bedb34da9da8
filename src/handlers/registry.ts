import { HandlerError } from '../errors';
import { isEventDefinition, type EventDefinition } from './defineEvent';
import { isHandler, type Handler } from './defineHandler';

/** The handlers of one worker. */
export class HandlerRegistry {
  /** In the order given. */
  readonly names: readonly string[];
  /** Types of events by the name of the handler. */
  readonly eventsByHandler: Readonly<Record<string, readonly string[]>>;
  /** 0 without handlers. */
  readonly longestTimeoutMs: number;
  readonly size: number;
  private readonly byName: ReadonlyMap<string, Handler>;
  private readonly byType = new Map<string, Handler[]>();

  private constructor(handlers: readonly Handler[]) {
    this.byName = new Map(handlers.map((handler) => [handler.name, handler]));
    this.names = Object.freeze([...this.byName.keys()]);
    // Without a prototype: `constructor` is a name like any other.
    const events = Object.create(null) as Record<string, readonly string[]>;
    for (const { name, types } of handlers) events[name] = types;
    this.eventsByHandler = Object.freeze(events);
    this.longestTimeoutMs = Math.max(0, ...handlers.map(({ timeoutMs }) => timeoutMs));
    this.size = handlers.length;
    for (const handler of handlers) {
      for (const type of handler.types) {
        const others = this.byType.get(type);
        if (others) others.push(handler);
        else this.byType.set(type, [handler]);
      }
    }
  }

  /**
   * @param events every event type that there is; a handler of another type is then a typing error, and not one that
   *   waits for ever for events that nobody writes
   * @throws HandlerError with all problems at once
   */
  static of(handlers: readonly Handler[], events?: readonly EventDefinition[]): HandlerRegistry {
    const problems = [...handlerProblems(handlers), ...eventProblems(handlers, events)];
    if (problems.length > 0) {
      throw new HandlerError(
        `The handlers have ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n  ${problems.join('\n  ')}`,
      );
    }
    return new HandlerRegistry(handlers);
  }

  get(name: string): Handler | undefined {
    return this.byName.get(name);
  }

  forType(type: string): readonly Handler[] {
    return this.byType.get(type) ?? NONE;
  }
}

const NONE: readonly Handler[] = Object.freeze([]);

function handlerProblems(handlers: readonly unknown[]): string[] {
  if (!Array.isArray(handlers)) return ['they must be a list of what defineHandler gave'];
  const problems: string[] = [];
  const names = new Set<string>();
  handlers.forEach((handler: unknown, index) => {
    if (!isHandler(handler)) {
      problems.push(
        `handlers[${index}] did not come from defineHandler of this package (is temporal-outbox installed twice?)`,
      );
    } else if (names.has(handler.name)) {
      problems.push(`two handlers are named ${handler.name}; the ledger could not tell them apart: rename one`);
    } else names.add(handler.name);
  });
  return problems;
}

function eventProblems(handlers: readonly unknown[], events: readonly EventDefinition[] | undefined): string[] {
  if (events !== undefined && !Array.isArray(events)) return ['`events` must be a list of what defineEvent gave'];
  const problems = new Set<string>();
  const definitions = new Map<string, EventDefinition>();
  const take = (definition: EventDefinition) => {
    const { type } = definition;
    if ((definitions.get(type) ?? definition) !== definition) {
      problems.add(`the event type ${type} is defined twice: define it once and import it where it is needed`);
    } else definitions.set(type, definition);
  };
  events?.forEach((definition: unknown, index) => {
    if (isEventDefinition(definition)) take(definition);
    else {
      problems.add(
        `events[${index}] did not come from defineEvent of this package (is temporal-outbox installed twice?)`,
      );
    }
  });
  const known = new Set(definitions.keys());
  for (const handler of Array.isArray(handlers) ? handlers.filter(isHandler) : []) {
    for (const definition of handler.definitions.values()) take(definition);
    for (const type of events ? handler.types : []) {
      if (!known.has(type)) {
        problems.add(`the handler ${handler.name} names the unknown event type ${type}: add it to the list of events`);
      }
    }
  }
  return [...problems];
}
