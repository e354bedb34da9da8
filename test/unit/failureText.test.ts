import fc from 'fast-check';
import { failureName, failureText } from '../../src/handlers/failureText';

const boom = (): never => {
  throw new Error('touched');
};
const hostile = new Proxy(
  {},
  { get: boom, has: boom, getPrototypeOf: boom, ownKeys: boom, getOwnPropertyDescriptor: boom },
);
/** fast-check asks what it holds for symbols of its own. */
const hostileToNames = new Proxy(
  {},
  {
    get: (_target, key) => (typeof key === 'symbol' ? undefined : boom()),
    has: (_target, key) => typeof key !== 'symbol' && boom(),
  },
);
const getter = Object.defineProperty(new Error('x'), 'message', { get: boom });
const circular = new Error('round');
circular.cause = circular;

function refused(over: object = {}) {
  return Object.assign(new Error('duplicate key: Key (email)=(ann@secret) already exists'), {
    name: 'error',
    code: '23505',
    table: 'users',
    constraint: 'users_email_key',
    detail: 'Key (email)=(ann@secret) already exists.',
    ...over,
  });
}

function expectStorable(text: string) {
  expect(text.length).toBeGreaterThan(0);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_048);
  expect(text.includes('\u0000')).toBe(false);
  expect(text.isWellFormed()).toBe(true);
}

describe('failureText', () => {
  it.each<[string, unknown, string]>([
    ['an error', new Error('no such order'), 'no such order'],
    ['an error without a message', new TypeError(), 'TypeError'],
    ['a text', 'plain', 'plain'],
    ['an empty text', '', 'an empty text was thrown, which is no Error'],
    ['undefined', undefined, 'undefined was thrown, which is no Error'],
    ['null', null, 'null was thrown, which is no Error'],
    ['a symbol', Symbol('s'), 'Symbol(s) was thrown, which is no Error'],
    ['an object with a message', Object.freeze({ message: 'frozen' }), 'frozen'],
    ['an object without one', Object.create(null), 'an object was thrown that has no message'],
    ['a proxy that throws on everything', hostile, 'what was thrown could not be read'],
    ['an error whose message throws', getter, 'what was thrown could not be read'],
    ['an error that is its own cause', circular, 'round'],
    [
      'an error with an unreadable cause',
      new Error('a', { cause: hostile }),
      'a (cause: what was thrown could not be read)',
    ],
    ['an error with a NUL and half a character', new Error('a\u0000b\ud800c'), 'a b\ufffdc'],
  ])('says what there is to say about %s', (_name, thrown, text) => {
    expect(failureText(thrown)).toBe(text);
  });

  it('tells three causes', () => {
    const chain = ['d', 'c', 'b', 'a'].reduce((cause, text) => new Error(text, { cause }), new Error('e'));
    expect(failureText(chain)).toBe('a (cause: b) (cause: c) (cause: d)');
  });

  it('tells the first errors of an AggregateError', () => {
    const errors = [new Error('one'), 'two', hostile, 4, 5];
    expect(failureText(new AggregateError(errors, 'all failed'))).toBe(
      'all failed [one; two; what was thrown could not be read; and 2 more]',
    );
  });

  it('cuts a message of 5 MB, at a whole character', () => {
    const text = failureText(new Error('🎬'.repeat(1_250_000)));
    expectStorable(text);
    expect(text).toMatch(/^(🎬)+…$/u);
    expect(Buffer.byteLength(text)).toBeGreaterThan(2_040);
  });

  it('never quotes a value that PostgreSQL refused, not even in the words of who caught it', () => {
    const cause = refused();
    const masked = 'PostgreSQL refused a value (SQLSTATE 23505; table users; constraint users_email_key)';
    expect(failureText(cause)).toBe(masked);
    expect(failureText(refused({ code: '22P02', table: undefined, constraint: undefined }))).toBe(
      'PostgreSQL refused a value (SQLSTATE 22P02)',
    );
    expect(failureText(new Error(`not saved: ${cause.message}`, { cause }))).toBe(
      `not saved: ${masked} (cause: ${masked})`,
    );
    const drizzle = Object.assign(new Error('Failed query: …\nparams: ann@secret', { cause }), {
      query: 'INSERT …',
      params: ['ann@secret'],
    });
    expect(failureText(drizzle)).toBe(`a statement failed (cause: ${masked})`);
    expect(failureText(Object.assign(new Error('relation "x" does not exist'), { code: '42P01' }))).toBe(
      'relation "x" does not exist',
    );
  });

  it('stores what redactFailure makes of it', () => {
    const about = { eventId: 'e', handler: 'h' };
    const redact = jest.fn((message: string) => message.replaceAll(/\S+@\S+/g, '(mail)'));
    expect(failureText(new Error('no box ann@secret'), redact, about)).toBe('no box (mail)');
    expect(redact).toHaveBeenCalledWith('no box ann@secret', about);
  });

  it('shows redactFailure a whole address, even where the text is then cut', () => {
    const text = failureText(new Error('x'.repeat(2_040) + ' ann@secret.example'), (m) =>
      m.replace('ann@secret.example', '-'),
    );
    expect(text).toBe('x'.repeat(2_040) + ' -');
  });

  it.each<[string, () => unknown, string]>([
    ['throws', boom, 'the reason was withheld: redactFailure threw'],
    ['gives no text', () => undefined, 'the reason was withheld: redactFailure gave no text'],
    ['is asynchronous', () => Promise.reject(new Error('x')), 'the reason was withheld: redactFailure gave no text'],
    ['gives an empty text', () => ' ', 'the reason was withheld'],
  ])('withholds the reason when redactFailure %s', (_name, redact, text) => {
    expect(failureText(new Error('secret'), redact as () => string)).toBe(text);
  });

  it('gives a text and a name that can be stored, whatever is thrown', () => {
    const text = fc.string({ unit: fc.constantFrom('\u0000', '\ud83c', '\udfac', 'x', 'é', '🎬'), maxLength: 4_000 });
    const thrown = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.anything(),
        fc.constantFrom(hostileToNames, getter, circular),
        fc
          .record(
            {
              message: fc.oneof(text, fc.anything()),
              name: fc.anything(),
              code: text,
              cause: tie('any'),
              errors: fc.array(tie('any')),
            },
            { requiredKeys: [] },
          ) // prettier-ignore
          .map((of) => Object.assign(new Error(), of)),
      ),
    })).any;
    fc.assert(
      fc.property(thrown, fc.option(fc.func(fc.oneof(text, fc.anything()))), (it, redact) => {
        expectStorable(failureText(it, (redact as (() => string) | null) ?? undefined));
        expectStorable(failureName(it));
      }),
    );
  });
});

describe('failureName', () => {
  it.each<[unknown, string]>([
    [new TypeError('x'), 'TypeError'],
    [new Error('x'), 'Error'],
    [refused(), '23505'],
    [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [{ name: 'Own' }, 'Own'],
    ['text', 'Unknown'],
    [undefined, 'Unknown'],
    [hostile, 'Unknown'],
  ])('is the error’s own name, else its code (%#)', (thrown, name) => {
    expect(failureName(thrown)).toBe(name);
  });
});
