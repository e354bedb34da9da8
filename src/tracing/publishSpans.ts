import { SpanKind, type Span } from '@opentelemetry/api';
import type { Outcome, Settle } from '../broker/broker';
import { subjectOf } from '../broker/subject';
import type { ClaimedEvent } from '../event';
import { contextOf } from './context';
import { endSpan, isRecording, startSpan } from './tracer';

/**
 * A span for each publish of an event that was enqueued in a trace, child of it, from here until its outcome: between
 * commit and handler it tells the relay's time from the broker's. Its context is not sent: the event's own is.
 *
 * @returns what to settle with
 */
export function tracePublishes(events: readonly ClaimedEvent[], settle: Settle, subjectPrefix: string): Settle {
  const spans = new Map<ClaimedEvent, Span>();
  for (const event of events) {
    const span = startPublish(event, subjectPrefix);
    if (span) spans.set(event, span);
  }
  if (spans.size === 0) return settle;
  return (event, outcome) => {
    const span = spans.get(event);
    if (span) endPublish(span, outcome);
    settle(event, outcome);
  };
}

/** @returns undefined when nobody records it */
function startPublish(event: ClaimedEvent, subjectPrefix: string): Span | undefined {
  // Without it there is no trace to tell about, and one of its own for each event would say little.
  if (event.headers?.traceparent === undefined) return undefined;
  const subject = subjectOf(subjectPrefix, event);
  const span = startSpan(
    subject === undefined ? 'publish' : `publish ${subject}`,
    {
      kind: SpanKind.CLIENT,
      attributes: {
        'messaging.system': 'nats',
        'messaging.operation.name': 'publish',
        'messaging.operation.type': 'send',
        ...(subject !== undefined && { 'messaging.destination.name': subject }),
        'messaging.message.id': event.eventId,
        ...(event.correlationId !== null && { 'messaging.message.conversation_id': event.correlationId }),
      },
    },
    contextOf(event.headers),
  );
  return span && isRecording(span) ? span : undefined;
}

function endPublish(span: Span, outcome: Outcome): void {
  if (outcome.kind === 'handed over') return endSpan(span);
  if (outcome.kind !== 'published') return endSpan(span, { 'error.type': outcome.kind }, outcome.reason);
  // Told where it is news: it was there already, from a publish whose answer was lost.
  endSpan(span, outcome.duplicate ? { 'outbox.duplicate': true } : {});
}
