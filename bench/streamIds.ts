import { DeliverPolicy, jetstream } from '@nats-io/jetstream';
import type { Rig } from './rig';

/** The event id of every message in the stream, oldest first. */
export async function streamIds(rig: Rig): Promise<string[]> {
  const { stream } = rig.config.nats;
  const { state } = await rig.manager.streams.info(stream);
  if (state.messages === 0) return [];
  const consumer = await jetstream(rig.nats).consumers.get(stream, { deliver_policy: DeliverPolicy.All });
  const ids: string[] = [];
  for await (const message of await consumer.consume({ max_messages: 2_000 })) {
    ids.push(message.headers?.get('Nats-Msg-Id') ?? '');
    if (message.seq >= state.last_seq) break;
  }
  return ids;
}
