import type { NatsLink } from '../broker/link';
import { readConsumerInfo } from '../broker/streamState';
import type { Config } from '../config';

/** Events of the stream by what the durable consumer of the handlers has made of them. */
export interface StreamEvents {
  /** Not given to any worker yet. */
  readonly undelivered: number;
  /** Given to a worker, and not acknowledged. */
  readonly inHand: number;
}

/** @returns null while nobody has created the durable: an installation may have no handlers. @throws without a broker */
export async function readStreamEvents(
  link: NatsLink,
  { stream, durable }: Config['nats'],
): Promise<StreamEvents | null> {
  if (!link.connection || !link.up) throw new Error(link.reason);
  const info = await readConsumerInfo(link.connection, stream, durable);
  return info ? { undelivered: info.num_pending, inHand: info.num_ack_pending } : null;
}
