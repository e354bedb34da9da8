import { context, propagation, ROOT_CONTEXT, trace, type Span } from '@opentelemetry/api';
import { loadConfig } from '../../src/config';
import type { Outcome } from '../../src/broker/broker';
import type { ClaimedEvent } from '../../src/event';
import type { HandledEvent } from '../../src/handlers/defineHandler';
import { activeHeaders, contextOf } from '../../src/tracing/context';
import { HandlerSpans } from '../../src/tracing/handlerSpans';
import { tracePublishes } from '../../src/tracing/publishSpans';

const fail = (): never => {
  throw new Error('the SDK is broken');
};
const handled = { eventId: 'e', type: 'T', aggregateType: 'a', headers: {}, correlationId: null } as never as HandledEvent; // prettier-ignore
const claimed = { id: '1', eventId: 'e', eventType: 'T', aggregateType: 'a', headers: { traceparent: 'x' }, correlationId: null } as never as ClaimedEvent; // prettier-ignore
const published: Outcome = { kind: 'published', duplicate: false };

/** What its tracers give; the API's own tracer asks it at each start until a first provider has come. */
let makeSpan: () => Span = fail;

beforeAll(() => {
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: () => makeSpan() }) } as never);
  propagation.setGlobalPropagator({ fields: () => [], extract: fail, inject: fail });
});
afterAll(() => {
  trace.disable();
  propagation.disable();
});

describe('an SDK that throws', () => {
  it('costs a trace and no event, neither at enqueue nor at the handler nor at the publish', () => {
    expect(activeHeaders()).toEqual({});
    expect(contextOf({ traceparent: 'x' })).toBe(ROOT_CONTEXT);
    expect(new HandlerSpans(loadConfig({}), undefined).start('mail', handled, 1)).toBeUndefined();
    const settle = jest.fn();
    tracePublishes([claimed], settle, 'events')(claimed, published);
    expect(settle).toHaveBeenCalledWith(claimed, published);
  });

  it('costs no outcome either when only the end of a span fails', () => {
    const spanContext = () => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 });
    makeSpan = () =>
      ({ spanContext, isRecording: () => true, end: fail, setStatus: fail, setAttributes: fail }) as never;
    const span = new HandlerSpans(loadConfig({}), undefined).start('mail', handled, 1);
    expect(span?.within(() => context.active())).toBe(ROOT_CONTEXT);
    expect(() => span?.end({ thrown: new Error('x') })).not.toThrow();
    const settle = jest.fn();
    const away: Outcome = { kind: 'away', reason: 'the broker is away' };
    tracePublishes([claimed], settle, 'events')(claimed, { kind: 'published', duplicate: true });
    tracePublishes([claimed], settle, 'events')(claimed, away);
    expect(settle.mock.calls).toEqual([[claimed, { kind: 'published', duplicate: true }], [claimed, away]]); // prettier-ignore
  });

  it('costs no outcome when it fails wherever else it is asked', () => {
    const spanContext = fail;
    makeSpan = () => ({ spanContext, isRecording: fail, end: fail, setStatus: fail, setAttributes: fail }) as never;
    expect(new HandlerSpans(loadConfig({}), undefined).start('mail', handled, 1)).toBeUndefined();
    const settle = jest.fn();
    tracePublishes([claimed], settle, 'events')(claimed, published);
    expect(settle).toHaveBeenCalledWith(claimed, published);

    const valid = () => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 });
    makeSpan = () => ({ spanContext: valid, isRecording: fail, end: fail }) as never;
    context.setGlobalContextManager({
      active: () => ROOT_CONTEXT,
      with: fail,
      enable: fail,
      disable: () => undefined,
    } as never);
    try {
      const span = new HandlerSpans(loadConfig({}), undefined).start('mail', handled, 1);
      const work = jest.fn(() => 'done');
      expect(span?.within(work)).toBe('done');
      expect(work).toHaveBeenCalledTimes(1);
      expect(() => span?.end({ thrown: new Error('x') })).not.toThrow();
    } finally {
      context.disable();
    }
  });
});
