import { JetStreamApiError, JetStreamError, jserrors } from '@nats-io/jetstream/internal';
import fc from 'fast-check';
import { errors, headers, InvalidArgumentError, InvalidSubjectError, RequestError, TimeoutError } from 'nats';
import { sortFailure } from '../../src/broker/failures';

const SUBJECT = 'events.thing.Happened';
const apiError = (err_code: number, description: string, code = 400) => new JetStreamApiError({ code, err_code, description }); // prettier-ignore
const noResponders = () => new RequestError('no responders', { cause: new errors.NoRespondersError(SUBJECT) });

describe('what the clients throw', () => {
  const cases: [string, Error, string, RegExp][] = [
    ['a payload past the limit of the server', InvalidArgumentError.format('payload', 'max_payload size exceeded'), 'refused', /max_payload/],
    ['a bad subject', new InvalidSubjectError('a b'), 'refused', /illegal subject/],
    ['a message past the limit of the stream', apiError(10054, 'message size exceeds maximum allowed'), 'refused', /exceeds maximum.*10054/],
    ['a full stream', apiError(10077, 'maximum messages exceeded', 503), 'later', /maximum messages exceeded.*10077/],
    ['a sequence that does not fit', apiError(10071, 'wrong last sequence'), 'later', /wrong last sequence.*10071/],
    ['an account without JetStream', new jserrors.JetStreamNotEnabled('x', { cause: apiError(10039, 'not enabled for account', 503) }), 'later', /not enabled for account.*10039/],
    ['a stream that is gone', new jserrors.StreamNotFoundError({ code: 404, err_code: 10059, description: 'stream not found' }), 'later', /stream not found/],
    ['a subject without a stream', new jserrors.JetStreamNotEnabled('jetstream is not enabled', { cause: noResponders() }), 'later', /no stream takes the subject events\.thing\.Happened/],
    ['nobody who answers', noResponders(), 'later', /no stream takes the subject/],
    ['nobody who answers, said plainly', new errors.NoRespondersError(SUBJECT), 'later', /no stream takes the subject/],
    ['a subject that may not be published to', new RequestError('x', { cause: new errors.PermissionViolationError('denied', 'publish', SUBJECT) }), 'later', /./],
    ['an acknowledgement without a stream', new JetStreamError('invalid ack response'), 'later', /no acknowledgement/],
    ['a time-out', new TimeoutError(), 'unanswered', /in time/],
    ['a time-out inside a request', new RequestError('timeout', { cause: new TimeoutError() }), 'unanswered', /in time/],
    ['a closed connection', new errors.ClosedConnectionError(), 'away', /closed connection/],
    ['a draining connection', new errors.DrainingConnectionError(), 'away', /draining/],
    ['a refused connection', new errors.ConnectionError('connection refused'), 'away', /connection refused/],
    ['a broken protocol', new errors.ProtocolError('bad'), 'away', /bad/],
    ['a request that was cancelled as its connection closed', new RequestError('cancelled'), 'away', /cancelled/],
    ['a request inside a closed connection', new RequestError('x', { cause: new errors.ClosedConnectionError() }), 'away', /./],
    ['credentials that expired', new errors.UserAuthenticationExpiredError('user authentication expired'), 'away', /expired/],
    ['credentials that are refused', new errors.AuthorizationError('authorization violation'), 'away', /violation/],
  ]; // prettier-ignore
  it.each(cases)('%s', (_name, error, kind, reason) => {
    expect(sortFailure(error, SUBJECT)).toMatchObject({ kind, reason: expect.stringMatching(reason) as string });
  });

  it('what the client throws itself is sorted as well: a header that no line can carry', () => {
    const thrown = (() => {
      try {
        headers().append('a', 'b\nc');
      } catch (error) {
        return error;
      }
      return undefined;
    })();
    expect(thrown).toBeDefined();
    expect(sortFailure(thrown, SUBJECT).kind).toBe('refused');
  });

  it('an answer that is no JSON', () => {
    const thrown = (() => {
      try {
        return JSON.parse('+OK') as unknown;
      } catch (error) {
        return error;
      }
    })();
    expect(sortFailure(thrown, SUBJECT)).toMatchObject({ kind: 'later' });
  });

  it('a TypeError, as which the client reports a connection that it has lost (C06)', () => {
    const lost = new TypeError("Cannot read properties of undefined (reading 'write')");
    expect(sortFailure(lost, SUBJECT)).toMatchObject({ kind: 'away' });
  });
});

describe('what nobody should throw', () => {
  const evil = (property: string) =>
    Object.defineProperty(new Error('x'), property, {
      get: () => {
        throw new Error('do not look');
      },
    });
  const loop = new Error('loop');
  loop.cause = loop;
  const nonsense: [string, unknown][] = [
    ['undefined', undefined],
    ['null', null],
    ['a text', 'boom'],
    ['an empty text', ''],
    ['a number', 7],
    ['a symbol', Symbol('x')],
    ['a bigint', 1n],
    ['a function', () => 1],
    ['an object without a prototype', Object.create(null)],
    ['a frozen object', Object.freeze({ message: 'frozen' })],
    ['an error that is its own cause', loop],
    ['an error whose name throws', evil('name')],
    ['an error whose message throws', evil('message')],
    ['an error whose cause throws', evil('cause')],
    ['an error whose message is a number', Object.assign(new Error(), { message: 5 })],
    ['an error whose message is empty', new Error('')],
    ['an error whose name is a symbol', Object.assign(new Error('x'), { name: Symbol('x') })],
    ['an API error without a code', Object.assign(new Error('x'), { name: 'JetStreamApiError', code: {} })],
    ['an error with a message of 5 MB', new Error('x\n'.repeat(2_500_000))],
    ['a message with a NUL and half a character at the cut', new Error(`\u0000${'x'.repeat(298)}🎬`)],
    [
      'a Proxy that nobody can look at',
      new Proxy(new Error('x'), {
        get: () => {
          throw new Error('no');
        },
        getPrototypeOf: () => {
          throw new Error('no');
        },
      }),
    ],
  ];

  /** Stored with a row, compared with other rows, and printed on one line. */
  function expectStorable(reason: string): void {
    expect(reason.length).toBeGreaterThan(0);
    expect(reason.length).toBeLessThanOrEqual(400);
    expect(reason.isWellFormed()).toBe(true);
    // eslint-disable-next-line no-control-regex -- these are the characters that must not be there
    expect(reason).not.toMatch(/[\u0000-\u001f\u007f]/);
  }

  it.each(nonsense)('%s is tried again later, for a reason that can be stored', (_name, error) => {
    const failure = sortFailure(error, SUBJECT);
    expect(failure.kind).toBe('later');
    expectStorable(failure.reason);
  });

  it('any value at all gets an outcome and a reason that can be stored', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything({ withNullPrototype: true }), fc.string({ unit: 'binary' }).map((text) => new Error(text))), (error) => {
        const failure = sortFailure(error, SUBJECT);
        expect(['later', 'unanswered', 'refused', 'away']).toContain(failure.kind);
        expectStorable(failure.reason);
      }),
    ); // prettier-ignore
  });
});
