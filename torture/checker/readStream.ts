import { DeliverPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from 'nats';
import type { History, StreamMessage } from './history';

/** Everything that the stream holds, by its own sequence, and how much of it the durable has not been through. */
export async function readStream(
  connection: NatsConnection,
  { stream, durable }: { readonly stream: string; readonly durable: string },
): Promise<Pick<History, 'stream' | 'unacknowledged'>> {
  const manager = await jetstreamManager(connection);
  const { state } = await manager.streams.info(stream);
  const { num_pending, num_ack_pending } = await manager.consumers.info(stream, durable);
  const messages: StreamMessage[] = [];
  if (state.messages > 0) {
    const consumer = await jetstream(connection).consumers.get(stream, { deliver_policy: DeliverPolicy.All });
    const flow = await consumer.consume({ max_messages: 500 });
    for await (const message of flow) {
      // A message without an id has no event: it is told as one that nobody committed.
      messages.push({
        eventId: message.headers?.get('Nats-Msg-Id') || `message ${message.seq}`,
        sequence: message.seq,
      });
      if (message.seq >= state.last_seq) break;
    }
  }
  return { stream: messages, unacknowledged: num_pending + num_ack_pending };
}
