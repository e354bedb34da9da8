import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { EnqueueError } from '../../src/errors';
import type { NewEvent } from '../../src/event';
import { defineEvent, isEventDefinition } from '../../src/handlers/defineEvent';
import { enqueueEvents } from '../../src/outbox/enqueue';

const orderPlaced = defineEvent('OrderPlaced', {
  aggregateType: 'order',
  schema: z.object({ email: z.email(), items: z.array(z.object({ price: z.number() })).default([]) }),
});

const fields = { aggregateId: 'o-1' };

/** Payloads that reached the insert statement, or the refusal. */
async function enqueued(...events: NewEvent[]): Promise<unknown> {
  let statement: unknown[] | undefined;
  const query = (_text: string, values?: unknown[]) => {
    statement = values;
    return Promise.resolve({ rows: [] });
  };
  try {
    await enqueueEvents({ query }, events);
  } catch (error) {
    expect(statement).toBeUndefined();
    return error;
  }
  return (JSON.parse(statement?.[0] as string) as { p: unknown }[]).map(({ p }) => p);
}

async function refusal(...events: NewEvent[]): Promise<EnqueueError> {
  const error = await enqueued(...events);
  expect(error).toBeInstanceOf(EnqueueError);
  return error as EnqueueError;
}

describe('defineEvent', () => {
  it('gives a frozen definition with version 1 unless told otherwise', () => {
    expect(orderPlaced).toMatchObject({ type: 'OrderPlaced', version: 1, aggregateType: 'order', upcast: {} });
    expect(Object.isFrozen(orderPlaced) && Object.isFrozen(orderPlaced.upcast)).toBe(true);
    expect(isEventDefinition(orderPlaced)).toBe(true);
    expect(isEventDefinition({ ...orderPlaced })).toBe(false);
    expect(defineEvent('A', { version: 3, upcast: { 1: (p) => p as unknown, 2: (p) => p as unknown } }).version).toBe(
      3,
    );
  });

  const bad: [string, () => unknown, RegExp][] = [
    ['a type with a dot', () => defineEvent('order.placed'), /The event type "order\.placed" must match/],
    ['a type that is no text', () => defineEvent(7 as never), /The event type 7 must match/],
    ['version 0', () => defineEvent('A', { version: 0 }), /The event A .* version 0 is no whole number from 1/],
    ['version 1.5', () => defineEvent('A', { version: 1.5 }), /version 1\.5/],
    [
      'an upcast from its own version',
      () => defineEvent('A', { version: 2, upcast: { 2: () => 1 } }),
      /the key "2".*1 to 1/,
    ],
    ['an upcast from version 0', () => defineEvent('A', { version: 2, upcast: { 0: () => 1 } }), /the key "0"/],
    ['an upcast from a word', () => defineEvent('A', { version: 2, upcast: { x: () => 1 } as never }), /the key "x"/],
    ['an upcast at version 1', () => defineEvent('A', { upcast: { 1: () => 1 } }), /the key "1"/],
    ['an upcast that is no function', () => defineEvent('A', { version: 2, upcast: { 1: 5 } as never }), /no function/],
    [
      'an aggregate type with a blank',
      () => defineEvent('A', { aggregateType: 'an order' }),
      /aggregateType "an order"/,
    ],
    ['a schema of no standard', () => defineEvent('A', { schema: { parse: () => 1 } as never }), /no Standard Schema/],
  ];
  it.each(bad)('refuses %s with a TypeError that says so', (_name, define, message) => {
    expect(define).toThrow(TypeError);
    expect(define).toThrow(message);
  });

  it('makes events of its type, version and aggregate type', async () => {
    const event = orderPlaced.event({ ...fields, payload: { email: 'a@b.example' }, correlationId: 'c' });
    expect(event).toMatchObject({ type: 'OrderPlaced', version: 1, aggregateType: 'order', correlationId: 'c' });
    expect(orderPlaced.event({ ...fields, aggregateType: 'cart', payload: { email: '' } }).aggregateType).toBe('cart');
    expect(await enqueued(event)).toEqual([{ email: 'a@b.example' }]);
  });

  it('types the payload by what the schema takes, not by what it gives', () => {
    // @ts-expect-error -- the schema wants a text
    orderPlaced.event({ ...fields, payload: { email: 5 } });
    // @ts-expect-error -- there is no payload
    orderPlaced.event({ ...fields });
    const free = defineEvent('Free', { schema: v.object({ n: v.number() }) });
    // @ts-expect-error -- the definition knows no aggregate type, so the event must
    free.event({ ...fields, payload: { n: 1 } });
    free.event({ ...fields, aggregateType: 'a', payload: { n: 1 } });
    // @ts-expect-error -- arktype's types are read as well
    defineEvent('A', { aggregateType: 'a', schema: type({ n: 'number' }) }).event({ ...fields, payload: { n: 'x' } });
    const own = defineEvent<'Own', { id: string }>('Own', { aggregateType: 'own' });
    // @ts-expect-error -- the type argument says what the payload is
    own.event({ ...fields, payload: { id: 1 } });
    const name: 'Own' = own.event({ ...fields, payload: { id: 'x' } }).type;
    expect(name).toBe('Own');
    defineEvent('Untyped', { aggregateType: 'a' }).event({ ...fields, payload: Symbol('anything') });
  });
});

describe('an event with a definition', () => {
  const SECRET = 'ann@secret';
  const libraries = [
    ['zod', z.object({ email: z.email(), items: z.array(z.object({ price: z.number() })) })],
    ['valibot', v.object({ email: v.pipe(v.string(), v.email()), items: v.array(v.object({ price: v.number() })) })],
    ['arktype', type({ email: 'string.email', items: type({ price: 'number' }).array() })],
  ] as const;
  it.each(libraries)('is refused by %s with the paths that failed, and none of their values', async (_name, schema) => {
    const definition = defineEvent('Bought', { aggregateType: 'a', schema });
    const payload = { email: SECRET, items: [{ price: 1 }, { price: '4111-1111' as never }] };
    const error = await refusal(definition.event({ ...fields, payload }));
    expect(error).toMatchObject({ kind: 'invalid-payload', index: 0 });
    expect(error.message).toMatch(/the schema of Bought: email: .+; items\[1\]\.price: .+/);
    expect(error.message).not.toMatch(/ann|secret|4111/);
    const fit = { email: 'ann@home.example', items: [] };
    expect(await enqueued(definition.event({ ...fields, payload: fit }))).toEqual([fit]);
  });

  it('is stored as it was given, not as its validator gives it back', async () => {
    const schema = z.object({ at: z.string().transform((text) => new Date(text)), n: z.number().default(5) });
    const payload = { at: '2020-01-01', other: true };
    expect(await enqueued(defineEvent('A', { aggregateType: 'a', schema }).event({ ...fields, payload }))).toEqual([
      payload,
    ]);
  });

  it('is checked as the JSON that a handler will get', async () => {
    const definition = defineEvent('A', { aggregateType: 'a', schema: z.object({ at: z.date() }) });
    const error = await refusal(definition.event({ ...fields, payload: { at: new Date() } }));
    expect(error.message).toMatch(/at: Invalid input: expected date, received string/);
  });

  it('waits for an asynchronous validator, and names the first event that it refuses', async () => {
    const schema = z.object({ n: z.number().refine((n) => Promise.resolve(n > 0), 'must be above zero') });
    const definition = defineEvent('A', { aggregateType: 'a', schema });
    const of = (n: number) => definition.event({ ...fields, payload: { n } });
    expect(await enqueued(of(1), of(2))).toEqual([{ n: 1 }, { n: 2 }]);
    const error = await refusal(of(1), of(-7), of(-8));
    expect(error).toMatchObject({ kind: 'invalid-payload', index: 1 });
    expect(error.message).toContain('n: must be above zero');
  });

  const fail = (): never => {
    throw new RangeError(SECRET);
  };
  const validators: [string, (value: unknown) => unknown][] = [
    ['throws', fail],
    ['rejects', () => Promise.reject(new RangeError(SECRET))],
    ['gives nothing', () => undefined],
    ['gives issues that are none', () => ({ issues: [null, 5, { message: 7, path: [{}] }] })],
    ['gives a list without issues', () => ({ issues: [] })],
    ['gives issues that throw', () => Object.defineProperty({}, 'issues', { get: fail })],
    ['gives a thenable that throws', () => ({ then: fail })],
  ];
  it.each(validators)('is refused when its validator %s', async (_name, validate) => {
    const schema = { '~standard': { version: 1 as const, vendor: 'x', validate: validate as never } };
    const definition = defineEvent('A', { aggregateType: 'a', schema });
    const error = await refusal(definition.event({ ...fields, payload: { a: 1 } }));
    expect(error.kind).toBe('invalid-payload');
    expect(error.message).not.toContain(SECRET);
  });

  it('does not leave a rejection behind when a later event is refused before its validator has answered', async () => {
    const schema = {
      '~standard': { version: 1 as const, vendor: 'x', validate: () => Promise.reject(new Error('late')) },
    };
    const definition = defineEvent('A', { aggregateType: 'a', schema });
    const first = definition.event({ ...fields, payload: 1 });
    expect(await refusal(first, { ...first, payload: '\u0000' })).toMatchObject({ kind: 'invalid-text', index: 1 });
  });

  it('gets a short message however many fields are wrong, and however long their values are', async () => {
    const definition = defineEvent('A', {
      aggregateType: 'a',
      schema: v.array(v.pipe(v.string(), v.email())),
    });
    const payload = Array.from({ length: 500 }, () => 'x'.repeat(2_000));
    const { message } = await refusal(definition.event({ ...fields, payload }));
    expect(message.length).toBeLessThan(420);
    expect(message).toMatch(/\[0\]: .*\[2\]: .*; and 497 more$/);
    expect(message).not.toContain('xxx');
  });

  it('hides a value that a message of the user’s own quotes, wherever in the payload it stands', async () => {
    const definition = defineEvent('A', {
      aggregateType: 'a',
      schema: z.object({ name: z.string(), deep: z.array(z.string()) }).check((context) => {
        const { name, deep } = context.value;
        context.issues.push({
          code: 'custom',
          input: name,
          message: `${name} has "${deep[0]}", not 5`,
          path: ['name'],
        });
      }),
    });
    const { message } = await refusal(definition.event({ ...fields, payload: { name: 'Ann (1)', deep: ['DE"02'] } }));
    expect(message).toContain('name: *** has "***", not 5');
  });

  it('must be of the type and version of its definition, which must be a real one', async () => {
    const event = orderPlaced.event({ ...fields, payload: { email: 'a@b.example' } });
    expect(await refusal({ ...event, type: 'Other' })).toMatchObject({ kind: 'invalid-event' });
    expect(await refusal({ ...event, version: 2 })).toMatchObject({ kind: 'invalid-event' });
    const error = await refusal({ ...event, definition: { ...orderPlaced } });
    expect(error.message).toMatch(/did not come from defineEvent/);
  });
});
