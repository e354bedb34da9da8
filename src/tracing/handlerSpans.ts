import { isSpanContextValid, ROOT_CONTEXT, SpanKind, trace, type Span } from '@opentelemetry/api';
import type { Config } from '../config';
import type { HandledEvent } from '../handlers/defineHandler';
import { failureName, failureText, type RedactFailure } from '../handlers/failureText';
import { contextOf } from './context';
import { endSpan, isRecording, runWithin, startSpan } from './tracer';

export interface HandlerSpan {
  /** Runs `work` with the span active: what it starts is its child, and what it enqueues goes on in the same trace. */
  within<T>(work: () => T): T;
  /** @param failed with what the handler failed, if it did */
  end(failed?: { readonly thrown: unknown }): void;
}

/**
 * A span for each entry into a handler, child of the context in which its event was enqueued: at the first attempt, at
 * each retry, and after a re-emit. Names and attributes are those of OpenTelemetry's conventions for messaging.
 */
export class HandlerSpans {
  private readonly system: string;

  constructor(
    private readonly config: Config,
    private readonly redact: RedactFailure | undefined,
  ) {
    // With `db` no broker of a known name carries the events.
    this.system = config.backend === 'nats' ? 'nats' : 'temporal_outbox';
  }

  /** @returns undefined when there is neither a span nor a context to hand on: without an SDK, as a rule */
  start(handler: string, event: HandledEvent, attempt: number): HandlerSpan | undefined {
    const parent = contextOf(event.headers);
    const destination = `${this.config.nats.subjectPrefix}.${event.aggregateType}.${event.type}`;
    const span = startSpan(
      `process ${destination}`,
      {
        kind: SpanKind.CONSUMER,
        attributes: {
          'messaging.system': this.system,
          'messaging.operation.name': 'process',
          'messaging.operation.type': 'process',
          'messaging.destination.name': destination,
          'messaging.consumer.group.name': handler,
          'messaging.message.id': event.eventId,
          ...(event.correlationId !== null && { 'messaging.message.conversation_id': event.correlationId }),
          'outbox.attempt': attempt,
        },
      },
      parent,
    );
    if (!span || (parent === ROOT_CONTEXT && !isValid(span))) return undefined;
    const active = trace.setSpan(parent, span);
    return {
      within: (work) => runWithin(active, work),
      end: (failed) => {
        if (!failed || !isRecording(span)) return endSpan(span);
        const { thrown } = failed;
        const message = failureText(thrown, this.redact, { eventId: event.eventId, handler });
        endSpan(span, { 'error.type': failureName(thrown) }, message);
      },
    };
  }
}

function isValid(span: Span): boolean {
  try {
    return isSpanContextValid(span.spanContext());
  } catch {
    return false;
  }
}
