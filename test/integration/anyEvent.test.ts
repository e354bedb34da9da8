import fc from 'fast-check';
import type { PoolClient } from 'pg';
import { z } from 'zod';
import { EnqueueError, type EnqueueErrorKind } from '../../src/errors';
import type { NewEvent } from '../../src/event';
import { defineEvent } from '../../src/handlers/defineEvent';
import { enqueueEvents } from '../../src/outbox/enqueue';
import { cloneDatabase, type TestDatabase } from '../support/database';

const RUNS = process.env.OUTBOX_TEST_LONG === 'on' ? 20_000 : 1_500;
/** Stands in all that a message must not tell: payloads, values of headers, ids of others, and past 60 characters of a quote. */
const MARK = 'S3CRET';
const LONGEST_MESSAGE = 500;
const KINDS: Record<EnqueueErrorKind, true> = { 'invalid-event': true, 'invalid-type': true, 'invalid-text': true, 'invalid-headers': true, 'circular': true, 'unsafe-number': true, 'too-large': true, 'invalid-payload': true, 'duplicate-event-id': true }; // prettier-ignore

const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();
const circular: unknown[] = [];
circular.push(circular);
function fails(): never {
  throw new Error(MARK);
}
/** What JSON and PostgreSQL have no form for, and what fails when it is looked at. */
const HOSTILE: Readonly<Record<string, unknown>> = {
  'an invalid Date': new Date(NaN),
  'no real Date': Object.create(Date.prototype) as unknown,
  'the last Date': new Date(8.64e15),
  'a Date before all years': new Date(-8.64e15),
  'a Map': new Map([['a', MARK]]),
  'a Set': new Set([MARK]),
  'headers of the web': new Headers({ a: MARK }),
  'a Date of another text': Object.assign(new Date(0), { toISOString: () => `${MARK}\0`, getTime: fails }),
  'a bigint': 10n ** 30n,
  'a symbol': Symbol(MARK),
  'a function': () => MARK,
  'a boxed text': new String(MARK),
  'a boxed NUL': new String('\0'),
  'a NUL in two boxes': Object.assign(new String(''), { valueOf: () => new String('\0'), toString: () => '\0' }),
  'a boxed symbol': Object(Symbol(MARK)),
  'a boxed number': new Number(NaN),
  'a boxed bigint': Object(1n),
  'a text with NUL': `${MARK}\0`,
  'half a character': `${MARK}\ud800`,
  'a long text': 'x'.repeat(60) + MARK.repeat(400),
  NaN: NaN,
  'an infinity': -Infinity,
  'a number past 2^53': 2 ** 53,
  'the smallest number': 5e-324,
  'an array with holes': new Array(3),
  bytes: Buffer.from(MARK),
  'a circle': circular,
  'a promise': Promise.resolve(MARK),
  'an error': new Error(MARK),
  'a regular expression': /S3CRET/,
  'an object without a prototype': Object.assign(Object.create(null) as object, { a: MARK }),
  'a toJSON that throws': { toJSON: fails },
  'a toJSON that gives nothing': { toJSON: () => undefined },
  'a toString that throws': { toString: fails, valueOf: fails, [Symbol.toPrimitive]: fails },
  'a proxy that throws': new Proxy({}, { get: fails, ownKeys: fails, getOwnPropertyDescriptor: fails, getPrototypeOf: fails }), // prettier-ignore
  'a revoked proxy': revoked,
  null: null,
};

/** Stands for one of them, or for a getter, until the property begins: fast-check itself looks at what it makes. */
class Odd {
  constructor(readonly odd: string) {}
}
const THROWN: Readonly<Record<string, unknown>> = { 'a getter that throws': new Error(MARK), 'a getter that throws nothing': undefined, 'a getter that throws what cannot be looked at': revoked }; // prettier-ignore
const hostile = fc.constantFrom(...Object.keys({ ...HOSTILE, ...THROWN })).map((it) => new Odd(it));

function real(value: unknown): unknown {
  if (value instanceof Odd) return HOSTILE[value.odd];
  if (Array.isArray(value)) return value.map(real);
  if (typeof value !== 'object' || value === null) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if ((prototype !== Object.prototype && prototype !== null) || DEFINITIONS.includes(value)) return value;
  const copy = Object.create(prototype) as object;
  for (const [key, it] of Object.entries(value) as [string, unknown][]) {
    const get = () => {
      throw THROWN[(it as Odd).odd];
    };
    const isGetter = it instanceof Odd && it.odd in THROWN;
    Object.defineProperty(copy, key, { enumerable: true, ...(isGetter ? { get } : { value: real(it) }) });
  }
  return copy;
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }).map((it) => MARK + it),
  fc.constantFrom('', '\0', '\ud800', '\udc00x', 'Ω🎬', ' ', MARK.repeat(200)),
);
const anything = fc.oneof(
  hostile,
  fc.anything({ withBigInt: true, withBoxedValues: true, withDate: true, withMap: true, withSet: true, withNullPrototype: true, withObjectString: true, withSparseArray: true, withTypedArray: true, stringUnit: 'binary', maxDepth: 3 }), // prettier-ignore
);
/** Right for the most part: an event has fourteen fields, and one that is wrong refuses it. */
const mostly = (right: fc.Arbitrary<unknown>) =>
  fc.oneof(
    { weight: 120, arbitrary: right },
    { weight: 1, arbitrary: anything },
    { weight: 1, arbitrary: text },
    { weight: 1, arbitrary: hostile },
  );
const maybe = (right: fc.Arbitrary<unknown>) => mostly(fc.option(right, { nil: undefined }));

const name = fc.constantFrom('Happened', 'thing', 'a-B_9', 'x'.repeat(128));
const uuid = fc.oneof(fc.uuid(), fc.constantFrom('0190a5b0-0000-7000-8000-000000000000', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF')); // prettier-ignore
const plain = fc.string({ unit: 'binary', maxLength: 30 }).map((it) => MARK + it.replaceAll('\0', ''));
const date = fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }); // prettier-ignore
const header = fc.dictionary(
  fc.oneof(
    { weight: 100, arbitrary: fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/) },
    fc.constantFrom('', '\0', '\ud800', 'a b', 'Nats-Msg-Id', 'outbox-x', 'ce-id', 'x'.repeat(129), '__proto__'),
  ),
  fc.oneof({ weight: 20, arbitrary: plain }, anything),
  { maxKeys: 4 },
);
const body = fc.oneof(
  // Nearly every number that JSON knows is an integer beyond 2^53.
  { weight: 1, arbitrary: fc.jsonValue({ stringUnit: 'grapheme' }) },
  { weight: 8, arbitrary: fc.anything({ values: [plain, fc.integer(), fc.double({ min: -1e9, max: 1e9, noNaN: true }), fc.boolean(), fc.constant(null)], maxDepth: 3 }) }, // prettier-ignore
  { weight: 3, arbitrary: fc.record({ n: fc.integer(), said: plain }, { requiredKeys: ['n'] }) },
  { weight: 1, arbitrary: fc.dictionary(fc.string({ unit: 'binary', maxLength: 9 }), anything, { maxKeys: 3 }) },
  { weight: 1, arbitrary: fc.array(anything, { maxLength: 3 }) },
);

const odd = (validate: (value: unknown) => unknown) => ({ '~standard': { version: 1, vendor: 'odd', validate } });
const withSchema = (schema: unknown) => defineEvent('Happened', { schema: schema as z.ZodType });
const DEFINITIONS: readonly unknown[] = [
  defineEvent('Happened'),
  withSchema(z.object({ n: z.int(), said: z.string().optional() })),
  withSchema(odd((value) => Promise.resolve({ value }))),
  withSchema(odd((value) => Promise.resolve({ issues: [{ message: JSON.stringify(value) }] }))),
  withSchema(odd(() => Promise.reject(new Error(MARK)))),
  withSchema(odd(fails)),
  withSchema(odd(() => undefined)),
];

const fields = fc.record({
  type: mostly(name),
  aggregateType: mostly(name),
  aggregateId: mostly(plain),
  payload: fc.oneof({ weight: 12, arbitrary: body }, anything),
  eventId: maybe(uuid),
  companyId: maybe(uuid),
  orgUnitId: maybe(uuid),
  correlationId: maybe(plain),
  causationId: maybe(plain),
  headers: maybe(header),
  version: maybe(fc.integer({ min: 1, max: 2_147_483_647 })),
  occurredAt: maybe(date),
  availableAt: maybe(date),
});
const defined = fc
  .tuple(fields, fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...DEFINITIONS) }, anything))
  .map(([given, definition]) => ({ ...given, type: 'Happened', version: 1, definition }));
const event = fc.oneof(
  { weight: 20, arbitrary: fields },
  { weight: 4, arbitrary: defined },
  { weight: 1, arbitrary: anything },
);
const options = fc.record(
  { maxPayloadBytes: fc.constantFrom(100_000, 100_000, 500, 1), wake: fc.boolean() },
  { requiredKeys: [] },
);

const list = fc.oneof(
  { weight: 25, arbitrary: fc.array(event, { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: fc.sparseArray(event, { maxNumElements: 2, maxLength: 9 }).filter((it) => it.length > 0) }, // prettier-ignore
);

let database: TestDatabase;
let client: PoolClient;
beforeAll(async () => {
  database = await cloneDatabase();
  client = await database.db.pool.connect();
});
afterAll(async () => {
  client.release();
  await database.drop();
});

it(`whatever an event holds, it is stored as it was given, by one statement, or refused with an EnqueueError before any (${RUNS} lists)`, async () => {
  const seen = { stored: 0, refused: new Set<string>() };
  await fc.assert(
    fc.asyncProperty(list, options, async (made, chosen) => {
      const given = made.map(real);
      const statements: string[] = [];
      const query = (sql: string, values?: readonly unknown[]) => {
        statements.push(sql);
        return client.query(sql, values as unknown[]);
      };
      await client.query('BEGIN');
      try {
        const ids = await enqueueEvents({ query }, given as NewEvent[], { schema: database.schema, ...chosen });
        expect(statements).toHaveLength(1);
        await areStored(given as NewEvent[], ids);
        seen.stored++;
      } catch (error) {
        if (statements.length > 0 || !(error instanceof EnqueueError)) throw error;
        seen.refused.add(error.kind);
        saysOnlyWhere(error, given.length);
      } finally {
        await client.query('ROLLBACK');
      }
    }),
    { numRuns: RUNS },
  );
  expect(seen.stored).toBeGreaterThan(RUNS / 10);
  expect(seen.refused.size).toBeGreaterThan(6);
}, 300_000);

function saysOnlyWhere({ kind, index, message }: EnqueueError, length: number): void {
  expect(KINDS).toHaveProperty(kind);
  expect(Number.isInteger(index) && index >= 0 && index < length).toBe(true);
  expect(message.startsWith(`Event ${index} was not enqueued: `)).toBe(true);
  expect(message.length).toBeLessThan(LONGEST_MESSAGE);
  // Types, event ids and the names of headers are quoted, and those may be anything.
  const quoted = /"(?:[^"\\]|\\.)*"/g;
  for (const [quote] of message.matchAll(quoted)) expect((JSON.parse(quote) as string).length).toBeLessThanOrEqual(60);
  expect(kind === 'invalid-payload' ? message : message.replaceAll(quoted, '')).not.toContain(MARK);
}

interface Row {
  readonly id: string;
  readonly payload: string;
  readonly headers: unknown;
  readonly version: number;
  readonly occurred: Date;
  readonly available: Date;
  readonly texts: readonly (string | null)[];
}

/** In the transaction that wrote them. */
async function areStored(given: readonly NewEvent[], ids: readonly string[]): Promise<void> {
  const { rows } = await client.query<Row>(
    `SELECT event_id AS id, payload::text, headers, version, occurred_at AS occurred, available_at AS available,
            ARRAY[event_type, aggregate_type, aggregate_id, company_id::text, org_unit_id::text, correlation_id, causation_id] AS texts
       FROM "${database.schema}".event_queue ORDER BY event_queue.id`,
  );
  expect(rows.map(({ id }) => id)).toEqual(ids);
  expect(rows).toHaveLength(given.length);
  for (const [at, row] of rows.entries()) {
    const { eventId, payload, headers, version, occurredAt, availableAt, ...texts } = given[at]!;
    if (typeof eventId === 'string') expect(row.id).toBe(eventId.toLowerCase());
    expect(JSON.parse(row.payload)).toEqual(JSON.parse(JSON.stringify(payload)));
    if (headers !== undefined) expect(Object.prototype.toString.call(headers)).toBe('[object Object]');
    expect(row.headers ?? {}).toEqual(Object.fromEntries(Object.entries(headers ?? {})));
    expect(row.version).toBe(version ?? 1);
    if (occurredAt) expect(row.occurred.getTime()).toBe(Date.prototype.getTime.call(occurredAt));
    if (availableAt) expect(row.available.getTime()).toBe(Date.prototype.getTime.call(availableAt));
    const { type, aggregateType, aggregateId, companyId, orgUnitId, correlationId, causationId } = texts;
    const wanted = [type, aggregateType, aggregateId, companyId?.toLowerCase(), orgUnitId?.toLowerCase()];
    expect(row.texts).toEqual([...wanted, correlationId, causationId].map((it) => it ?? null));
  }
}
