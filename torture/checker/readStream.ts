import { DeliverPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { MsgHdrs, NatsConnection } from 'nats';
import { now } from '../clock';
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
  // The broker's clock is the machine's own, which no fault moves.
  const ahead = Date.now() - now();
  if (state.messages > 0) {
    const consumer = await jetstream(connection).consumers.get(stream, { deliver_policy: DeliverPolicy.All });
    const flow = await consumer.consume({ max_messages: 500 });
    for await (const message of flow) {
      messages.push({
        eventId: eventIdOf(message.headers, message.seq),
        sequence: message.seq,
        at: message.info.timestampNanos / 1_000_000 - ahead,
      });
      if (message.seq >= state.last_seq) break;
    }
  }
  return { stream: messages, unacknowledged: num_pending + num_ack_pending };
}

/**
 * By its id for the broker or, where that is missing, by that of the CloudEvent. One without either, or with two, is told
 * as an event that nobody committed.
 */
function eventIdOf(headers: MsgHdrs | undefined, sequence: number): string {
  const ids = new Set(['Nats-Msg-Id', 'ce-id'].map((name) => headers?.get(name) ?? '').filter((id) => id !== ''));
  const [id] = ids;
  return id !== undefined && ids.size === 1 ? id : `message ${sequence}${[...ids].map((each) => ` ${each}`).join('')}`;
}
