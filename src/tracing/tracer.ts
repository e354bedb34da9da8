import {
  context,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanOptions,
} from '@opentelemetry/api';
import { ownVersion } from '../ownVersion';

/** Does nothing until the application registers an SDK, and then writes through that. */
const tracer = trace.getTracer('temporal-outbox', ownVersion());

/** Never throws, whatever the application's SDK does: an event is worth more than its trace. */
export function startSpan(name: string, options: SpanOptions, parent: Context): Span | undefined {
  try {
    return tracer.startSpan(name, options, parent);
  } catch {
    return undefined;
  }
}

/**
 * A failure is a status and no exception event, which would carry message and stack as they were thrown. Never throws.
 *
 * @param failure in words that may be shown to whoever sees traces
 */
export function endSpan(span: Span, attributes: Attributes = {}, failure?: string): void {
  try {
    span.setAttributes(attributes);
    if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
    span.end();
  } catch {
    // As above.
  }
}

/** Whether anybody records it. Never throws. */
export function isRecording(span: Span): boolean {
  try {
    return span.isRecording();
  } catch {
    return false;
  }
}

/** Runs `work` once, with the context active where that can be. What `work` throws is passed on. */
export function runWithin<T>(active: Context, work: () => T): T {
  let entered = false;
  try {
    return context.with(active, () => {
      entered = true;
      return work();
    });
  } catch (error) {
    if (entered) throw error;
    return work();
  }
}
