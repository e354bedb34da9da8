import { DeliverPolicy, jetstream } from '@nats-io/jetstream';
import type { MsgHdrs, NatsConnection } from 'nats';

const TIMEOUT_MS = 5_000;
/** Messages in memory at a time; headers only, so some hundred bytes each. */
const PAGE = 2_000;
/** A page that does not fill up has lost messages to the stream's limits, or the broker: look again. */
const PAGE_TIMEOUT_MS = 5_000;

export interface StoredHeaders {
  readonly subject: string;
  readonly sequence: number;
  readonly at: Date;
  readonly headers: MsgHdrs | undefined;
}

/**
 * The headers of a stream's messages in their order, up to a sequence, a page at a time. No body is read: the broker
 * sends headers only, which its batched direct get cannot, and which needs no setting of the stream.
 *
 * Over an ephemeral consumer that acknowledges nothing and is deleted at the end (by the broker itself, should this
 * process die), so neither the durable nor its redeliveries notice. It is an ordered one: a message that was dropped on
 * the way is fetched again, and would otherwise be reported lost.
 *
 * @throws Error while the broker is away
 */
export async function* readHeaders(
  connection: NatsConnection,
  stream: string,
  { from, upTo }: { from: Date | undefined; upTo: number },
): AsyncGenerator<StoredHeaders[]> {
  const start =
    from === undefined
      ? { deliver_policy: DeliverPolicy.All }
      : { deliver_policy: DeliverPolicy.StartTime, opt_start_time: from.toISOString() };
  const consumer = await jetstream(connection, { timeout: TIMEOUT_MS }).consumers.get(stream, {
    ...start,
    headers_only: true,
  });
  try {
    let pending = (await consumer.info(true)).num_pending;
    let last = 0;
    while (pending > 0 && last < upTo) {
      const page: StoredHeaders[] = [];
      const wanted = Math.min(PAGE, pending);
      for await (const message of await consumer.fetch({ max_messages: wanted, expires: PAGE_TIMEOUT_MS })) {
        const { subject, seq: sequence, headers } = message;
        last = sequence;
        pending = message.info.pending;
        if (sequence > upTo) break;
        page.push({ subject, sequence, at: new Date(Number(message.timestampNanos / 1_000_000n)), headers });
      }
      if (page.length < wanted) pending = last >= upTo ? 0 : (await consumer.info()).num_pending;
      if (page.length > 0) yield page;
    }
  } finally {
    await consumer.delete().catch(() => false);
  }
}
