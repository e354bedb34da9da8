import fc from 'fast-check';
import { EnqueueError, type EnqueueErrorKind } from '../../src/errors';
import type { NewEvent } from '../../src/event';
import { enqueueEvents, type EnqueueOptions } from '../../src/outbox/enqueue';
import { measureJson } from '../../src/outbox/measureJson';
import { event } from '../support/events';
import { rawJson } from '../support/rawJson';

/** Stands where a transaction would, and keeps every statement that reached it. */
function recordingTx() {
  const statements: { text: string; values: unknown[] }[] = [];
  const query = (text: string, values: unknown[] = []) => {
    statements.push({ text, values });
    return Promise.resolve({ rows: [] });
  };
  return { statements, query };
}

async function refusalOf(given: unknown, options: EnqueueOptions = {}): Promise<EnqueueError> {
  const tx = recordingTx();
  const error: unknown = await enqueueEvents(tx, [event(), given as NewEvent], options).then(
    () => 'enqueued',
    (reason: unknown) => reason,
  );
  expect(tx.statements).toEqual([]);
  expect(error).toBeInstanceOf(EnqueueError);
  return error as EnqueueError;
}

/** The records that the one insert statement was given. */
async function recordsOf(...given: NewEvent[]): Promise<Record<string, unknown>[]> {
  const tx = recordingTx();
  await enqueueEvents(tx, given);
  expect(tx.statements).toHaveLength(1);
  return JSON.parse(tx.statements[0]?.values[0] as string) as Record<string, unknown>[];
}

const circular: Record<string, unknown> = { name: 'loop' };
circular.self = { back: circular };

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

/** With ways to become text or a number of its own, which `JSON.stringify` asks. */
const boxed = (object: object, value: () => unknown) => Object.assign(object, { toString: value, valueOf: value });

const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();

class OtherDate extends Date {
  override toISOString() {
    return '\u0000';
  }
  override getTime() {
    return NaN;
  }
}

const throwing = (error: unknown) => ({
  toJSON: () => {
    throw error;
  },
});

describe('what could never be delivered is refused with a typed error before any SQL', () => {
  const payloads: [string, unknown, EnqueueErrorKind][] = [
    ['a NUL in a value', { a: ['x\u0000y'] }, 'invalid-text'],
    ['a NUL in a key', { 'x\u0000y': 1 }, 'invalid-text'],
    ['a lone high surrogate in a value', 'x\ud83d', 'invalid-text'],
    ['a lone low surrogate in a value', { a: '\ude00x' }, 'invalid-text'],
    ['surrogates in the wrong order', '\ude00\ud83d', 'invalid-text'],
    ['a lone surrogate in a key', { a: [{ '\udfff': 1 }] }, 'invalid-text'],
    ['a NUL in a String object', { a: new String('\u0000') }, 'invalid-text'],
    [
      'a NUL in a String object of its own ideas',
      { a: Object.assign(new String(''), { valueOf: () => new String(''), toString: () => '\u0000' }) },
      'invalid-text',
    ],
    ['a String object that becomes no text', { a: boxed(new String(''), () => new String('\u0000')) }, 'invalid-event'],
    ['NaN in a Number object of its own ideas', { a: boxed(new Number(1), () => NaN) }, 'unsafe-number'],
    ['a lone surrogate in raw JSON', { a: rawJson('"\\ud800"') }, 'invalid-text'],
    ['a NUL in raw JSON', [rawJson('"\\u0000"')], 'invalid-text'],
    ['a number in raw JSON that PostgreSQL cannot store', rawJson('1e999999'), 'unsafe-number'],
    ['2^53 in raw JSON', { a: rawJson('9007199254740992') }, 'unsafe-number'],
    ['2^53 and a little in raw JSON', [rawJson('9007199254740992.5')], 'unsafe-number'],
    ['10^20 in raw JSON, with an exponent', [rawJson('1e20')], 'unsafe-number'],
    ['more decimals in raw JSON than PostgreSQL has room for', [rawJson('1e-16384')], 'unsafe-number'],
    ['as many, written out', { a: rawJson(`0.${'1'.repeat(16_384)}`) }, 'unsafe-number'],
    ['a zero in raw JSON that is none to PostgreSQL', [rawJson('-0.0E+99999')], 'unsafe-number'],
    ['a lone surrogate that a toJSON returns', { toJSON: () => '\ud800' }, 'invalid-text'],
    ['NaN', { a: NaN }, 'unsafe-number'],
    ['Infinity', [-Infinity], 'unsafe-number'],
    ['NaN in a Number object', [new Number(NaN)], 'unsafe-number'],
    ['2^53', { a: 2 ** 53 }, 'unsafe-number'],
    ['-(2^53)', -(2 ** 53), 'unsafe-number'],
    ['1e300', [1e300], 'unsafe-number'],
    ['2^60 in a Number object', { a: new Number(2 ** 60) }, 'unsafe-number'],
    ['a bigint', { a: 1n }, 'unsafe-number'],
    ['a bigint in an object wrapper', { a: Object(1n) as unknown }, 'unsafe-number'],
    ['a circular value', circular, 'circular'],
    ['1,001 levels of arrays', nested(1_001), 'too-large'],
    ['a million levels of arrays', nested(1_000_000), 'too-large'],
    ['no payload', undefined, 'invalid-event'],
    ['a function', () => 1, 'invalid-event'],
    ['a symbol', Symbol('x'), 'invalid-event'],
    ['a toJSON that returns undefined', { toJSON: () => undefined }, 'invalid-event'],
    ['a toJSON that throws', { a: throwing(new Error('no')) }, 'invalid-event'],
    ['a toJSON that throws undefined', throwing(undefined), 'invalid-event'],
    ['a toJSON that throws a RangeError', throwing(new RangeError('Invalid time value')), 'invalid-event'],
    [
      'a getter that throws',
      {
        get a() {
          throw new TypeError('no');
        },
      },
      'invalid-event',
    ],
    [
      'a Proxy whose keys cannot be listed',
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('no');
          },
        },
      ),
      'invalid-event',
    ],
    [
      'a Proxy whose properties cannot be read',
      new Proxy(
        { a: 1 },
        {
          get: () => {
            throw new Error('no');
          },
        },
      ),
      'invalid-event',
    ],
  ];
  it.each(payloads)('payload: %s', async (_name, payload, kind) => {
    expect(await refusalOf(event({ payload }))).toMatchObject({ kind, index: 1, name: 'EnqueueError' });
  });

  const fields: [string, Record<string, unknown>, EnqueueErrorKind][] = [
    ['an empty type', { type: '' }, 'invalid-type'],
    ['a type with a dot', { type: 'a.b' }, 'invalid-type'],
    ['a type that is a wildcard', { type: '*' }, 'invalid-type'],
    ['a type with a line break at its end', { type: 'a\n' }, 'invalid-type'],
    ['a type with a letter outside ASCII', { type: 'é' }, 'invalid-type'],
    ['a type of 129 characters', { type: 'x'.repeat(129) }, 'invalid-type'],
    ['no type', { type: undefined }, 'invalid-type'],
    ['a type that cannot be printed', { type: Object.create(null) as unknown }, 'invalid-type'],
    ['an aggregate type with a blank', { aggregateType: 'a b' }, 'invalid-type'],
    ['an aggregate type that is a number', { aggregateType: 7 }, 'invalid-type'],
    ['an empty aggregate id', { aggregateId: '' }, 'invalid-event'],
    ['an aggregate id that is a number', { aggregateId: 7 }, 'invalid-event'],
    ['an aggregate id with a NUL', { aggregateId: 'a\u0000' }, 'invalid-text'],
    ['an aggregate id of 1,025 characters', { aggregateId: 'x'.repeat(1_025) }, 'too-large'],
    ['a correlation id with a lone surrogate', { correlationId: '\ud800' }, 'invalid-text'],
    ['a causation id that is no text', { causationId: {} }, 'invalid-event'],
    ['an event id that is no UUID', { eventId: 'x' }, 'invalid-event'],
    ['an empty event id', { eventId: '' }, 'invalid-event'],
    ['an event id that is a number', { eventId: 7 }, 'invalid-event'],
    ['an event id in braces', { eventId: '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}' }, 'invalid-event'],
    ['a company id that is no UUID', { companyId: 'acme' }, 'invalid-event'],
    ['an org unit id that is no UUID', { orgUnitId: 1 }, 'invalid-event'],
    ['version 0', { version: 0 }, 'invalid-event'],
    ['version 1.5', { version: 1.5 }, 'invalid-event'],
    ['version 2^31', { version: 2 ** 31 }, 'invalid-event'],
    ['a version that is text', { version: '1' }, 'invalid-event'],
    ['an invalid date', { occurredAt: new Date(NaN) }, 'invalid-event'],
    ['a date that is text', { availableAt: '2026-01-01' }, 'invalid-event'],
    ['the last date of JavaScript', { availableAt: new Date(8.64e15) }, 'invalid-event'],
    ['a date before the year 1', { occurredAt: new Date(-1e14) }, 'invalid-event'],
    ['headers that are text', { headers: 'a' }, 'invalid-headers'],
    ['headers that are a Map', { headers: new Map([['a', 'b']]) }, 'invalid-headers'],
    ['headers of the web', { headers: new Headers({ a: 'b' }) }, 'invalid-headers'],
    ['headers that are a Date', { headers: new Date() }, 'invalid-headers'],
    ['headers that are a text in an object', { headers: new String('a') }, 'invalid-headers'],
    ['headers that are a list', { headers: ['a'] }, 'invalid-headers'],
    ['headers that are null', { headers: null }, 'invalid-headers'],
    ['a header that is a number', { headers: { a: 1 } }, 'invalid-headers'],
    ['a header that is undefined', { headers: { a: undefined } }, 'invalid-headers'],
    ['a header name with a colon', { headers: { 'a:b': '1' } }, 'invalid-headers'],
    ['an empty header name', { headers: { '': '1' } }, 'invalid-headers'],
    ['a header that would steer the broker', { headers: { 'nats-msg-id': '1' } }, 'invalid-headers'],
    ['a header that would forge the record', { headers: { 'Outbox-Version': '1' } }, 'invalid-headers'],
    ['a header with a NUL', { headers: { a: '\u0000' } }, 'invalid-text'],
    ['a header with a lone surrogate', { headers: { a: '\udc00' } }, 'invalid-text'],
    ['headers of 16 KiB', { headers: { a: 'x'.repeat(16_384) } }, 'too-large'],
    // 9 bytes each once percent-encoded: 16 KiB are all that is kept for headers.
    ['headers that are too long once encoded', { headers: { a: '€'.repeat(1_800) } }, 'too-large'],
    ['texts that are too long once encoded', { correlationId: '€'.repeat(1_000), causationId: '€'.repeat(1_000) }, 'too-large'],
  ]; // prettier-ignore
  it.each(fields)('%s', async (_name, over, kind) => {
    expect(await refusalOf({ ...event(), ...over })).toMatchObject({ kind, index: 1 });
  });

  it.each([
    ['null', null],
    ['undefined', undefined],
    ['a text', 'event'],
    ['a number', 5],
    [
      'an object with a getter that throws',
      Object.defineProperty(event(), 'type', {
        get: () => {
          throw new Error('no');
        },
      }),
    ],
    [
      'an object with a getter that throws what cannot be looked at',
      Object.defineProperty(event(), 'headers', {
        get: () => {
          throw revoked; // eslint-disable-line @typescript-eslint/only-throw-error -- as others may
        },
      }),
    ],
    [
      'an object with a getter that throws a refusal of its own',
      Object.defineProperty(event(), 'headers', {
        get: () => {
          throw new EnqueueError('circular', 7, 'S3CRET');
        },
      }),
    ],
    [
      'a Proxy that cannot be read',
      new Proxy(event(), {
        get: () => {
          throw new Error('no');
        },
      }),
    ],
  ])('an event that is %s', async (_name, given) => {
    expect(await refusalOf(given)).toMatchObject({ kind: 'invalid-event', index: 1 });
  });

  it('the same event id twice in one call, whatever its case', async () => {
    const eventId = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11';
    const tx = recordingTx();
    await expect(
      enqueueEvents(tx, [event({ eventId }), event({ eventId: eventId.toLowerCase() })]),
    ).rejects.toMatchObject({ kind: 'duplicate-event-id', index: 1 });
    expect(tx.statements).toEqual([]);
  });

  it.each([
    ['of nothing else', new Array<NewEvent>(2), 0],
    ['of one', new Array<NewEvent>(1), 0],
    ['between events', [event(), , event()] as NewEvent[], 1], // eslint-disable-line no-sparse-arrays
  ])('a hole in a list: %s', async (_name, list, index) => {
    const tx = recordingTx();
    await expect(enqueueEvents(tx, list)).rejects.toMatchObject({ name: 'EnqueueError', kind: 'invalid-event', index });
    expect(tx.statements).toEqual([]);
  });

  it.each([['a set', new Set([event()])], ['an event', event()], ['null', null], ['a list of another kind', { length: 1, 0: event() }]])(
    '%s in place of a list',
    async (_name, list) => {
      const tx = recordingTx();
      await expect(enqueueEvents(tx, list as never)).rejects.toThrow(new TypeError('events must be an array of events'));
      expect(tx.statements).toEqual([]);
    },
  ); // prettier-ignore

  it.each([NaN, '10kb', '1000', 0, -1, 1.5, Infinity, {}])('a limit of %p', async (maxPayloadBytes) => {
    const tx = recordingTx();
    const failed = enqueueEvents(tx, [event()], { maxPayloadBytes: maxPayloadBytes as number });
    await expect(failed).rejects.toThrow(RangeError);
    await expect(failed).rejects.toThrow(/^maxPayloadBytes must be a whole number from 1, not /);
    expect(tx.statements).toEqual([]);
  });

  it.each([5, ['public'], { toString: () => 'public' }])('a schema name that is no text: %p', async (schema) => {
    const tx = recordingTx();
    const failed = enqueueEvents(tx, [event()], { schema: schema as string });
    await expect(failed).rejects.toThrow(/^the schema name must be text, not (number|object)$/);
    expect(tx.statements).toEqual([]);
  });

  it('a schema name that is not allowed', async () => {
    const tx = recordingTx();
    await expect(enqueueEvents(tx, [event()], { schema: 'Foo' })).rejects.toThrow(/schema name "Foo" is refused/);
    expect(tx.statements).toEqual([]);
  });

  it('keeps what a payload threw as the cause, and its content out of the message', async () => {
    const cause = new Error('card 4111 1111 1111 1111');
    const error = await refusalOf(event({ payload: throwing(cause) }));
    expect(error.cause).toBe(cause);
    expect(error.message).not.toContain('4111');
  });
});

describe('the size of a payload', () => {
  it('is that of the text which PostgreSQL prints and the broker is sent: with a space after each comma', async () => {
    const payload = Array<number>(1_000).fill(1);
    const printed = JSON.stringify(payload).length + 999;
    expect(await refusalOf(event({ payload }), { maxPayloadBytes: printed - 1 })).toMatchObject({ kind: 'too-large' });
    await expect(enqueueEvents(recordingTx(), [event({ payload })], { maxPayloadBytes: printed })).resolves.toHaveLength(1);
  }); // prettier-ignore

  it('counts small numbers as they are written out, and characters in bytes of UTF-8', async () => {
    expect(await refusalOf(event({ payload: [5e-324] }), { maxPayloadBytes: 300 })).toMatchObject({ kind: 'too-large' });
    for (const small of ['1E-400', '1e-000400', '0.1e-399']) expect(await refusalOf(event({ payload: [rawJson(small)] }), { maxPayloadBytes: 400 })).toMatchObject({ kind: 'too-large' });
    expect(await refusalOf(event({ payload: '€€' }), { maxPayloadBytes: 7 })).toMatchObject({ kind: 'too-large' });
  }); // prettier-ignore

  it('has 1 MiB less 16 KiB as its limit by default', async () => {
    const limit = 1_048_576 - 16_384;
    expect(await refusalOf(event({ payload: 'x'.repeat(limit - 1) }))).toMatchObject({ kind: 'too-large' });
    await expect(
      enqueueEvents(recordingTx(), [event({ payload: 'x'.repeat(limit - 2) })]),
    ).resolves.toHaveLength(1);
  }); // prettier-ignore

  it('is measured without being misled by what stands inside strings', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const json = JSON.stringify([text]);
        expect(measureJson(json)).toEqual({ bytes: Buffer.byteLength(json), depth: 1 });
      }),
      { examples: [['\\'], ['"'], ['\\"[{,:1e-9'], ['a\\\\",']] },
    );
  });
});

describe('what is accepted', () => {
  it('passes 1,000 levels of nesting', async () => {
    expect(await recordsOf(event({ payload: nested(1_000) }))).toHaveLength(1);
  });

  it('writes object wrappers as JSON.stringify does', async () => {
    const payload = [new String('a'), new Number(1), new Boolean(false), Object(Symbol('s')), boxed(new String('a'), () => 'b'), boxed(new Boolean(true), () => false), Object.assign(new String('c'), { valueOf: () => new String('\u0000') })]; // prettier-ignore
    const [record] = await recordsOf(event({ payload: { all: payload, symbol: Object(Symbol('s')) as unknown } }));
    expect(record?.p).toEqual({ all: ['a', 1, false, {}, 'b', true, 'c'], symbol: {} });
  });

  it('writes raw JSON as the value that it is', async () => {
    const payload = [rawJson('"\\u0061"'), rawJson('1.50'), rawJson('null'), { deep: rawJson('true') }];
    expect(await recordsOf(event({ payload }))).toMatchObject([{ p: ['a', 1.5, null, { deep: true }] }]);
  });

  it('writes a number of raw JSON with every digit that it was given, which no number of JavaScript has', async () => {
    const given = ['1234567890123456.789', '-0.10000000000000000000000000000000000001', '1.50', '12E-30', '1e2'];
    const tx = recordingTx();
    const payload = { amounts: given.map(rawJson), alone: rawJson('0.30000000000000000001') };
    await enqueueEvents(tx, [event({ payload })]);
    expect(tx.statements[0]?.values[0]).toContain(`"p":{"amounts":[${given.join()}],"alone":0.30000000000000000001}`);
  });

  it('takes the time of a Date, whatever text it gives of itself', async () => {
    const [record] = await recordsOf(event({ occurredAt: new OtherDate('2020-02-29T00:00:00Z') }));
    expect(record?.w).toBe('2020-02-29T00:00:00.000Z');
  });

  it('takes headers without a prototype', async () => {
    const headers = Object.assign(Object.create(null) as Record<string, string>, { a: 'b' });
    expect(await recordsOf(event({ headers }))).toMatchObject([{ h: { a: 'b' } }]);
  });

  it('takes a header named __proto__ as any other', async () => {
    const headers = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
    const [record] = await recordsOf(event({ headers }));
    expect(Object.entries(record?.h as object)).toEqual([['__proto__', 'x']]);
  });

  it('passes an aggregate id of 1,024 characters of any script', async () => {
    expect(await recordsOf(event({ aggregateId: '€'.repeat(1_024) }))).toMatchObject([{ k: '€'.repeat(1_024) }]);
  });

  it('returns event ids in lower case, as PostgreSQL prints them', async () => {
    const eventId = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11';
    await expect(enqueueEvents(recordingTx(), [event({ eventId })])).resolves.toEqual([eventId.toLowerCase()]);
  });

  it('runs nothing for no events', async () => {
    const tx = recordingTx();
    await expect(enqueueEvents(tx, [])).resolves.toEqual([]);
    expect(tx.statements).toEqual([]);
  });
});

describe('adapters', () => {
  it('reach other query builders through `{ query: (text, values) => … }` alone, with one statement', async () => {
    const tx = recordingTx();
    const ids = await enqueueEvents({ query: (text, values) => tx.query(text, values) }, [event(), event()]);
    expect(ids).toHaveLength(2);
    expect(tx.statements).toHaveLength(1);
  });
});
