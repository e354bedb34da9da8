import type { JetStreamClient } from '@nats-io/jetstream';
import type { Message } from './prepare';

/** Below this an atomic batch costs more round trips than it saves. */
export const MIN_ATOMIC = 32;
/** The server's own limit for one atomic batch. */
export const MAX_ATOMIC = 1_000;

/** @throws unless the broker has committed the whole batch: a batch that is only begun is dropped without a word. */
export async function sendBatch(js: JetStreamClient, messages: readonly Message[], timeout: number): Promise<void> {
  const [first, ...rest] = messages;
  const last = rest.pop();
  if (!first || !last) throw new Error('a batch of fewer than two messages is never committed');
  // The client's `msgID` option is ignored for all but the first message: the ids stand in the headers already.
  const batch = await js.startBatch(first.subject, first.event.payload, { headers: first.headers, timeout });
  for (const { event, subject, headers } of rest) batch.add(subject, event.payload, { headers });
  await batch.commit(last.subject, last.event.payload, { headers: last.headers, timeout });
}
