import fc from 'fast-check';
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import type { EventRecord } from '../../src/event';
import { defineEvent, type EventDefinition, type Upcast } from '../../src/handlers/defineEvent';
import { defineHandler, type HandledEvent } from '../../src/handlers/defineHandler';
import { readEvent, type Reading } from '../../src/handlers/readEvent';

const run = () => undefined;
const untyped = defineHandler({ name: 'untyped', events: ['Thing'], run });
const handlerOf = (definition: EventDefinition) => defineHandler({ name: 'typed', events: [definition], run });

function record(payload: unknown, over: Partial<EventRecord> = {}): EventRecord {
  return {
    eventId: '00000000-0000-4000-8000-00000000aaaa',
    eventType: 'Thing',
    aggregateType: 'thing',
    aggregateId: 'a',
    companyId: null,
    orgUnitId: null,
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    headers: null,
    version: 1,
    correlationId: null,
    causationId: null,
    occurredAt: '2026-01-01T00:00:00.123456Z',
    ...over,
  };
}

function readySync(reading: Reading | Promise<Reading>): HandledEvent {
  expect(reading).toMatchObject({ kind: 'ready' });
  return (reading as Extract<Reading, { kind: 'ready' }>).event;
}

async function reasonOf(reading: Reading | Promise<Reading>): Promise<string> {
  const read = await reading;
  expect(read.kind).toBe('unfit');
  return (read as Extract<Reading, { kind: 'unfit' }>).reason;
}

describe('readEvent', () => {
  it('hands over every field, and headers that are never null', () => {
    const event = readySync(readEvent(untyped, record({ n: 1 }, { correlationId: 'c', version: 9 })));
    expect(event).toEqual({
      eventId: '00000000-0000-4000-8000-00000000aaaa',
      type: 'Thing',
      version: 9,
      aggregateType: 'thing',
      aggregateId: 'a',
      companyId: null,
      orgUnitId: null,
      payload: { n: 1 },
      headers: {},
      correlationId: 'c',
      causationId: null,
      occurredAt: '2026-01-01T00:00:00.123456Z',
    });
  });

  it('gives each handler headers and a payload of its own', () => {
    const shared = record({ n: 1 }, { headers: { a: 'b' } });
    const first = readySync(readEvent(untyped, shared));
    Object.assign(first.headers, { a: 'changed' });
    Object.assign(first.payload as object, { n: 2 });
    expect(readySync(readEvent(untyped, shared))).toMatchObject({ headers: { a: 'b' }, payload: { n: 1 } });
  });

  it('says that an event is newer than its definition, before it looks at the body', () => {
    const handler = handlerOf(defineEvent('Thing', { version: 2 }));
    expect(readEvent(handler, record('no json', { version: 3 }))).toEqual({ kind: 'newer', version: 3, known: 2 });
  });

  it.each([
    ['zod', z.object({ n: z.number(), more: z.string().default('x') })],
    ['valibot', v.object({ n: v.number(), more: v.optional(v.string(), 'x') })],
    ['arktype', type({ n: 'number', more: 'string = "x"' })],
  ])('hands over what %s makes of the payload, at once, and refuses what does not fit', async (_name, schema) => {
    const handler = handlerOf(defineEvent('Thing', { schema }));
    expect(readySync(readEvent(handler, record({ n: 1 }))).payload).toEqual({ n: 1, more: 'x' });
    const reason = await reasonOf(readEvent(handler, record({ n: 'ann@secret' })));
    expect(reason).toMatch(/^the payload does not fit the schema of Thing version 1: n: ./);
    expect(reason).not.toContain('secret');
  });

  it('waits for a validator that is asynchronous', async () => {
    const schema = z.object({ n: z.number().refine((n) => Promise.resolve(n > 0)) });
    const handler = handlerOf(defineEvent('Thing', { schema }));
    expect(await readEvent(handler, record({ n: 1 }))).toMatchObject({ kind: 'ready', event: { payload: { n: 1 } } });
    expect(await reasonOf(readEvent(handler, record({ n: -1 })))).toMatch(/n: Invalid input/);
  });

  it('lifts an old payload step by step, then checks it', async () => {
    const definition = defineEvent('Thing', {
      version: 3,
      schema: z.object({ steps: z.array(z.number()).max(2) }),
      upcast: {
        1: (old: { steps: number[] }) => ({ steps: [...old.steps, 1] }),
        2: (old: { steps: number[] }) => ({ steps: [...old.steps, 2] }),
      },
    });
    const read = (steps: number[], version: number) => readEvent(handlerOf(definition), record({ steps }, { version }));
    expect(readySync(read([], 1))).toMatchObject({ version: 3, payload: { steps: [1, 2] } });
    expect(readySync(read([], 2))).toMatchObject({ version: 3, payload: { steps: [2] } });
    expect(readySync(read([], 3))).toMatchObject({ version: 3, payload: { steps: [] } });
    expect(await reasonOf(read([7], 1))).toMatch(/schema of Thing version 3: steps: /);
  });

  const boom = (): never => {
    throw new RangeError('ann@secret');
  };
  it.each<[string, Record<number, Upcast>, RegExp]>([
    ['is missing', { 2: (p) => p as unknown }, /^Thing has no upcast from version 1, and the event has version 1$/],
    ['throws', { 1: (p) => p as unknown, 2: boom }, /^the upcast of Thing from version 2 threw RangeError$/],
    ['rejects', { 1: () => Promise.reject(new Error('x')) }, /from version 1 gave a promise; it must be synchronous/],
    ['gives what throws when it is touched', { 1: () => ({ get then() { return boom(); } }) }, /version 1 threw/], // prettier-ignore
  ])('cannot use an event for which an upcast %s', async (_name, upcast, reason) => {
    const handler = handlerOf(defineEvent('Thing', { version: 3, upcast }));
    expect(await reasonOf(readEvent(handler, record({})))).toMatch(reason);
  });

  it('keeps integers past 2^53 exact, and every other number as JSON has it', () => {
    const body =
      '{"id": 9007199254740993, "neg": -123456789012345678901234567890, "safe": 9007199254740991, "f": 1.1000000000000000001, "e": 1e30, "t": "1234567890123456", "__proto__": 1}';
    const payload = readySync(readEvent(untyped, record(body))).payload as Record<string, unknown>;
    expect(Object.entries(payload)).toEqual([
      ['id', 9007199254740993n],
      ['neg', -123456789012345678901234567890n],
      ['safe', Number.MAX_SAFE_INTEGER],
      ['f', 1.1],
      ['e', 1e30],
      ['t', '1234567890123456'],
      ['__proto__', 1],
    ]);
  });

  it('reads every JSON as JSON.parse does, with many digits or without, unless an integer is unsafe', () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'medium' }), fc.boolean(), (value, digits) => {
        const text = JSON.stringify(digits ? [value, '0'.repeat(16)] : value);
        // fast-check prints floats such as 1e+25 in full, which the exact reader rightly takes for integers.
        fc.pre(!/(?<![\d.])\d{16,}(?![\d.e])/.test(text.replaceAll('"0000000000000000"', '')));
        expect(readySync(readEvent(untyped, record(text))).payload).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each([
    ['', /^the body is no JSON$/],
    ['{"a": ann@secret}', /^the body is no JSON$/],
    ['1234567890123456 ann@secret', /^the body is no JSON$/],
    ['NaN', /^the body is no JSON$/],
    ['['.repeat(200_000) + '1234567890123456' + ']'.repeat(200_000), /^the body is nested too deeply to be read$/],
  ])('cannot use a body that is no JSON, and does not quote it (%#)', async (body, reason) => {
    expect(await reasonOf(readEvent(untyped, record(body)))).toMatch(reason);
  });

  it('keeps a later value of a repeated key, as PostgreSQL and JSON.parse do', () => {
    expect(readySync(readEvent(untyped, record('{"a": 1, "a": 1234567890123456}'))).payload).toEqual({
      a: 1234567890123456,
    });
  });

  it('never throws, whatever a validator answers, and gives a reason that can be stored', async () => {
    await fc.assert(
      fc.asyncProperty(fc.anything(), fc.constantFrom('give', 'throw', 'resolve', 'reject'), async (answer, how) => {
        const validate = () => {
          if (how === 'throw') throw answer;
          if (how === 'give') return answer;
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- anything may be rejected with
          return how === 'resolve' ? Promise.resolve(answer) : Promise.reject(answer);
        };
        const schema = { '~standard': { version: 1 as const, vendor: 'x', validate: validate as never } };
        const reading = await readEvent(handlerOf(defineEvent('Thing', { schema })), record({ a: 1 }));
        if (reading.kind === 'unfit') expectStorable(reading.reason);
      }),
    );
  });

  it('bounds what a validator says, and makes it storable', async () => {
    const unit = fc.string({ unit: fc.constantFrom('\u0000', '\ud800', 'x', '🎬'), maxLength: 900 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ message: unit, path: fc.array(unit) }), { minLength: 1 }),
        async (issues) => {
          const schema = { '~standard': { version: 1 as const, vendor: 'x', validate: () => ({ issues }) } };
          expectStorable(await reasonOf(readEvent(handlerOf(defineEvent('Thing', { schema })), record({ a: 1 }))));
        },
      ),
    );
  });
});

function expectStorable(reason: string) {
  expect(reason.length).toBeGreaterThan(0);
  expect(reason.length).toBeLessThanOrEqual(500);
  expect(reason.includes('\u0000')).toBe(false);
  expect(reason.isWellFormed()).toBe(true);
}
