import { DeliverPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from 'nats';
import type { Config } from '../config';
import { createLogger } from '../logger';
import { NatsLink } from './link';
import { subjectOf } from './subject';

/** `published_at` is written a while after the broker stored the message, and by another clock. */
const BEFORE_MS = 60_000;
/** A person waits, and only headers are read: enough for a busy minute of one subject. */
const MAX_MESSAGES = 20_000;
const MAX_MS = 5_000;

export type FoundMessage =
  | { readonly kind: 'found'; readonly stream: string; readonly sequence: number; readonly storedAt: string }
  | { readonly kind: 'not found'; readonly reason: string }
  | { readonly kind: 'away'; readonly reason: string };

/** Which message to look for. */
export interface SoughtMessage {
  readonly eventId: string;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly publishedAt: string;
}

/** Where an event stands in the stream: looks through the headers on its subject from about the time it was published. */
export async function findMessage(config: Config, sought: SoughtMessage): Promise<FoundMessage> {
  const subject = subjectOf(config.nats.subjectPrefix, sought);
  if (subject === undefined) return { kind: 'not found', reason: 'its type makes no subject' };
  const link = new NatsLink(config.nats, createLogger('silent'), () => Promise.resolve());
  try {
    await link.start();
    if (!link.connection) return { kind: 'away', reason: link.reason };
    return await search(link.connection, config.nats.stream, subject, sought);
  } catch (error) {
    return { kind: 'away', reason: (error as Error).message };
  } finally {
    await link.close();
  }
}

async function search(
  connection: NatsConnection,
  stream: string,
  subject: string,
  { eventId, publishedAt }: SoughtMessage,
): Promise<FoundMessage> {
  const options = { timeout: MAX_MS, checkAPI: false };
  await (await jetstreamManager(connection, options)).streams.info(stream);
  const consumer = await jetstream(connection, options).consumers.get(stream, {
    filter_subjects: subject,
    deliver_policy: DeliverPolicy.StartTime,
    opt_start_time: new Date(Date.parse(publishedAt) - BEFORE_MS).toISOString(),
    headers_only: true,
  });
  const notFound = (seen: string): FoundMessage => ({
    kind: 'not found',
    reason: `not among the ${seen} on ${subject}`,
  });
  if ((await consumer.info()).num_pending === 0) return notFound('messages since it was published');
  const messages = await consumer.consume({ max_messages: 1_000 });
  const timer = setTimeout(() => messages.stop(), MAX_MS);
  try {
    let seen = 0;
    for await (const message of messages) {
      seen++;
      if (message.headers?.get('Nats-Msg-Id') === eventId) {
        const storedAt = new Date(Number(message.timestampNanos / 1_000_000n)).toISOString();
        return { kind: 'found', stream, sequence: message.seq, storedAt };
      }
      if (message.info.pending === 0) return notFound(`${seen} messages since it was published`);
      if (seen >= MAX_MESSAGES) break;
    }
    return notFound(`first ${seen} messages since it was published`);
  } finally {
    clearTimeout(timer);
    messages.stop();
  }
}
