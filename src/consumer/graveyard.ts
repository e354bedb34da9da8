import type { NatsLink } from '../broker/link';
import type { Config } from '../config';
import { exhaustedReason, recordExhausted, type RecordedExhausted } from '../deliveries/recordExhausted';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import type { Metrics } from '../telemetry/metrics';
import type { ExhaustedLog } from './exhausted';
import { replyFor } from './reply';
import type { StoredEvent } from './storedEvents';

export interface GraveyardDeps {
  readonly db: Database;
  readonly link: NatsLink;
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  readonly exhausted: ExhaustedLog;
  /** Names of the handlers that take events of this type. */
  readonly handlersFor: (type: string) => readonly string[];
}

/** Makes dead letters of messages that the broker delivers no more. */
export class Graveyard {
  constructor(private readonly deps: GraveyardDeps) {}

  /** @returns what was done for each handler that had neither finished nor waited */
  async bury(
    messages: readonly StoredEvent[],
    deliveries: number = this.deps.config.maxAttempts,
  ): Promise<RecordedExhausted[]> {
    const { db, config, handlersFor, exhausted, metrics } = this.deps;
    const rows = await recordExhausted(
      db,
      messages.map(({ event }) => ({ event, handlers: handlersFor(event.eventType), deliveries })),
      config.handling,
    );
    const typeOf = new Map(messages.map(({ event }) => [event.eventId, event.eventType]));
    for (const { eventId, handler, kind } of rows) {
      if (kind !== 'recorded') continue;
      metrics?.handlerExhausted(handler);
      const about = { eventId, eventType: typeOf.get(eventId) ?? '', handler, attempt: deliveries };
      exhausted.tell({ ...about, reason: exhaustedReason(deliveries) });
    }
    const held = new Set(rows.filter(({ kind }) => kind === 'held').map(({ eventId }) => eventId));
    this.acknowledge(messages.filter(({ event }) => !held.has(event.eventId)));
    return rows;
  }

  /**
   * Of a message that it delivers no more the server still keeps count, and its ack floor stays in front of it while
   * others are in hand: without this, each later look would begin there.
   */
  private acknowledge(messages: readonly StoredEvent[]): void {
    const { link, config, logger } = this.deps;
    try {
      for (const { sequence } of messages) link.connection?.publish(replyFor({ ...config.nats, sequence }), '+ACK');
    } catch (error) {
      logger.debug(`A dead letter's message could not be acknowledged: ${(error as Error).message}`);
    }
  }
}
