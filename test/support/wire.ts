import type { NatsConnection } from 'nats';

/**
 * What is sent to a subject, whether or not its stream takes it: a core subscriber sees every publish. A subject that
 * no stream takes must not be in it: with a subscriber there, the broker no longer says that nobody takes it.
 */
export interface Wire {
  /** Publishes so far, each try counted. */
  readonly sent: { readonly subject: string; readonly eventId: string }[];
  /** How often each event id was sent. */
  counts(): Map<string, number>;
}

export async function listenOnWire(nats: NatsConnection, subject: string): Promise<Wire> {
  const sent: { subject: string; eventId: string }[] = [];
  nats.subscribe(subject, {
    callback: (_error, message) =>
      void sent.push({ subject: message.subject, eventId: message.headers?.get('Nats-Msg-Id') ?? '' }),
  });
  await nats.flush();
  return {
    sent,
    counts: () => {
      const counts = new Map<string, number>();
      for (const { eventId } of sent) counts.set(eventId, (counts.get(eventId) ?? 0) + 1);
      return counts;
    },
  };
}
