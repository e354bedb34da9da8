import type { StandardSchemaV1 } from '@standard-schema/spec';
import { NAME, type NewEvent } from '../event';

/** Lifts a payload of one version to the next. Synchronous, as it runs for every old event that is handled. */
export type Upcast = (payload: any) => unknown; // eslint-disable-line @typescript-eslint/no-explicit-any -- the shape of a past version is known to nobody but this function

export interface EventOptions {
  /** Version of the payload's shape that is written now. Default 1. */
  readonly version?: number;
  /** From the version written until then to the one after it: `{ 1: (p) => ({ ...p, currency: 'EUR' }) }`. */
  readonly upcast?: Readonly<Record<number, Upcast>>;
  /** The kind of thing that it happens to, where that is always the same. */
  readonly aggregateType?: string;
}

/** What `definition.event` takes; the aggregate type only where the definition does not know it. */
export type EventFields<Input, AggregateType extends string | undefined = undefined> = Omit<
  NewEvent,
  'type' | 'version' | 'payload' | 'aggregateType' | 'definition'
> & { readonly payload: Input } & (undefined extends AggregateType
    ? { readonly aggregateType: string }
    : { readonly aggregateType?: string });

/**
 * An event type with the shape of its payload: what producer and handlers agree on.
 *
 * The schema always sees the payload as JSON, on both sides: `z.iso.datetime()` or `z.coerce.date()`, never `z.date()`.
 */
/* eslint-disable @typescript-eslint/no-explicit-any -- `EventDefinition` alone stands for any of them */
export interface EventDefinition<
  Type extends string = string,
  Input = any,
  Output = Input,
  AggregateType extends string | undefined = any,
> {
  /* eslint-enable @typescript-eslint/no-explicit-any */
  readonly type: Type;
  readonly version: number;
  readonly schema: StandardSchemaV1<Input, Output> | undefined;
  readonly upcast: Readonly<Record<number, Upcast>>;
  readonly aggregateType: AggregateType;
  /** A new event of this type and version; `enqueueEvents` checks its payload before any SQL. */
  readonly event: (fields: EventFields<Input, AggregateType>) => NewEvent & {
    readonly type: Type;
    readonly payload: Input;
  };
}

const defined = new WeakSet<object>();

/** A definition that a copy or a literal imitates has not been checked, so it is none. */
export function isEventDefinition(value: unknown): value is EventDefinition {
  return typeof value === 'object' && value !== null && defined.has(value);
}

/**
 * Defines an event type: `defineEvent('OrderPlaced', { schema: z.object({ total: z.int() }) })`. Any validator that
 * follows Standard Schema will do (zod, valibot, arktype). Without one, give the type of the payload yourself:
 * `defineEvent<'OrderPlaced', OrderPlaced>('OrderPlaced')`.
 *
 * @throws TypeError for a name, a version, a schema or an upcast that could never work
 */
export function defineEvent<
  const Type extends string,
  Schema extends StandardSchemaV1,
  AggregateType extends string | undefined = undefined,
>(
  type: Type,
  options: EventOptions & { readonly schema: Schema; readonly aggregateType?: AggregateType },
): EventDefinition<
  Type,
  StandardSchemaV1.InferInput<Schema>,
  StandardSchemaV1.InferOutput<Schema>,
  [AggregateType] extends [undefined] ? undefined : string
>;
export function defineEvent<const Type extends string, Payload = unknown>(
  type: Type,
  options: EventOptions & { readonly schema?: undefined; readonly aggregateType: string },
): EventDefinition<Type, Payload, Payload, string>;
export function defineEvent<const Type extends string, Payload = unknown>(
  type: Type,
  options?: EventOptions & { readonly schema?: undefined; readonly aggregateType?: undefined },
): EventDefinition<Type, Payload, Payload, undefined>;
export function defineEvent(
  type: string,
  options: EventOptions & { readonly schema?: StandardSchemaV1 | undefined } = {},
): EventDefinition {
  const { version = 1, schema, upcast = {}, aggregateType } = options;
  if (!isName(type)) throw new TypeError(`The event type ${quote(type)} must match [A-Za-z0-9_-]{1,128}`);
  const refuse = (what: string): never => {
    throw new TypeError(`The event ${type} cannot be defined: ${what}`);
  };
  if (!Number.isInteger(version) || version < 1 || version > 2_147_483_647)
    refuse(`its version ${quote(version)} is no whole number from 1`);
  if (aggregateType !== undefined && !isName(aggregateType))
    refuse(`its aggregateType ${quote(aggregateType)} must match [A-Za-z0-9_-]{1,128}`);
  if (schema !== undefined && !isStandardSchema(schema))
    refuse('its schema follows no Standard Schema version 1; zod from 3.24, valibot from 1 and arktype from 2 do');
  if (typeof upcast !== 'object' || upcast === null) refuse('its upcast is no object of functions by version');
  for (const [from, lift] of Object.entries(upcast) as [string, unknown][]) {
    if (!/^[1-9]\d*$/.test(from) || Number(from) >= version)
      refuse(
        `its upcast has the key ${quote(from)}, but lifts from the versions 1 to ${version - 1} are all it can use`,
      );
    if (typeof lift !== 'function') refuse(`its upcast from version ${from} is no function`);
  }

  const definition: EventDefinition<string, unknown, unknown, string> = Object.freeze({
    type,
    version,
    schema,
    upcast: Object.freeze({ ...upcast }),
    aggregateType: aggregateType as string,
    event: (fields: EventFields<unknown, string>) => ({
      ...fields,
      type,
      version,
      // Undefined only where the types already asked for it; `enqueueEvents` then says what is missing.
      aggregateType: fields.aggregateType ?? (aggregateType as string),
      definition,
    }),
  });
  defined.add(definition);
  return definition;
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && NAME.test(value);
}

/** arktype's validators are functions, zod's and valibot's are objects. */
function isStandardSchema(schema: unknown): boolean {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false;
  const standard = (schema as Partial<StandardSchemaV1>)['~standard'];
  return standard?.version === 1 && typeof standard.validate === 'function';
}

function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60));
  return typeof value === 'number' ? String(value) : `(${value === null ? 'null' : typeof value})`;
}
