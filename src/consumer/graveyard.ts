import type { NatsLink } from '../broker/link';
import type { Config } from '../config';
import {
  exhaustedReason,
  recordExhausted,
  type ExhaustedEvent,
  type RecordedExhausted,
} from '../deliveries/recordExhausted';
import { Gather } from '../handlers/gather';
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
  /** In portions: of large bodies a single look finds more than a statement may have. */
  private readonly letters: Gather<ExhaustedEvent, readonly RecordedExhausted[]>;

  constructor(private readonly deps: GraveyardDeps) {
    this.letters = new Gather(
      (given) => this.record(given),
      ({ event }) => event.payload.length,
    );
  }

  /**
   * @returns what was done for each handler that had neither finished nor waited
   * @throws while PostgreSQL is away: some may have been buried, the others are found again
   */
  async bury(
    messages: readonly StoredEvent[],
    deliveries: number = this.deps.config.maxAttempts,
  ): Promise<RecordedExhausted[]> {
    const buried = await Promise.all(messages.map((message) => this.buryOne(message, deliveries)));
    return buried.flat();
  }

  private async buryOne(message: StoredEvent, deliveries: number): Promise<readonly RecordedExhausted[]> {
    const { event } = message;
    const handlers = this.deps.handlersFor(event.eventType);
    const rows = await this.letters.add({ event, handlers, deliveries });
    if (!rows.some(({ kind }) => kind === 'held')) this.acknowledge(message);
    return rows;
  }

  /** Said with each portion: a later one that fails finds those of this one buried, and would never say so. */
  private async record(given: readonly ExhaustedEvent[]): Promise<(readonly RecordedExhausted[])[]> {
    const { db, config, exhausted, metrics } = this.deps;
    const rows = await recordExhausted(db, given, config.handling);
    // An event that stands in the stream twice has its dead letters once.
    const told = new Set<RecordedExhausted>();
    return given.map(({ event: { eventId, eventType }, deliveries }) => {
      const own = rows.filter((row) => row.eventId === eventId && !told.has(row));
      for (const row of own) {
        if (row.kind !== 'recorded') continue;
        told.add(row);
        const { handler } = row;
        metrics?.handlerExhausted(handler);
        exhausted.tell({ eventId, eventType, handler, attempt: deliveries, reason: exhaustedReason(deliveries) });
      }
      return own;
    });
  }

  /**
   * Of a message that it delivers no more the server still keeps count, and its ack floor stays in front of it while
   * others are in hand: without this, each later look would begin there.
   */
  private acknowledge({ sequence }: StoredEvent): void {
    const { link, config, logger } = this.deps;
    try {
      link.connection?.publish(replyFor({ ...config.nats, sequence }), '+ACK');
    } catch (error) {
      logger.debug(`A dead letter's message could not be acknowledged: ${(error as Error).message}`);
    }
  }
}
