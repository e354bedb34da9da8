import { DeliverPolicy, type ConsumerInfo, type StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from 'nats';
import { readHeaders, type StoredHeaders } from '../broker/readHeaders';
import { CLOCKS_MS, keepingOf, readConsumerInfo, readStreamInfo, type Keeping } from '../broker/streamState';
import type { Config } from '../config';
import { isGiven, takesSubject } from '../consumer/given';
import { bringsId, incomingEvent } from '../consumer/message';
import { ReconcileError } from '../errors';
import { subjectOf } from '../broker/subject';
import type { Database } from '../postgres/database';
import { findRows, type FoundRow } from './findRows';
import type { HandledEvent, Handlings } from './handlings';
import { IdSet } from './idSet';
import { readClock } from './readStart';
import type { DoneRow } from './readRows';
import type { DoubledEvent } from './result';
import { RowSet } from './rowSet';
import { Tally } from './tally';

const EMPTY = new Uint8Array();

/** What the stream holds, beside what the outbox says. Holds a bit for each row, and the ids of foreign messages. */
export class StreamSide {
  messages = 0;
  foreign = 0;
  readonly doubled: Tally<DoubledEvent>;
  private readonly held = new RowSet();
  private readonly foreignIds = new IdSet();

  private constructor(
    private readonly db: Database,
    private readonly connection: NatsConnection,
    private readonly nats: Config['nats'],
    private readonly consumer: ConsumerInfo | undefined,
    private readonly stream: StreamInfo,
    private readonly openedMs: number,
    limit: number,
  ) {
    this.doubled = new Tally(limit);
  }

  /** How far the database's clock is ahead of the broker's; 0 where that cannot be measured. */
  private get aheadMs(): number {
    return this.stream.ts === undefined ? 0 : this.openedMs - Date.parse(this.stream.ts);
  }

  /**
   * Takes the bounds: the consumer's before the stream's, so that what is acknowledged is within what is read.
   *
   * @throws ReconcileError `no-stream`
   */
  static async open(db: Database, connection: NatsConnection, nats: Config['nats'], limit: number) {
    const consumer = await readConsumerInfo(connection, nats.stream, nats.durable);
    const stream = await streamInfo(connection, nats.stream);
    return new StreamSide(db, connection, nats, consumer, stream, await readClock(db), limit);
  }

  /** Reads the stream up to its bound, and has what it holds compared with the outbox, ledger and deliveries. */
  async read(handlings: Handlings, sinceMs: number | null, onPage: (messages: number) => void): Promise<void> {
    const { last_seq: upTo, messages } = this.stream.state;
    if (messages === 0) return;
    // Earlier rather than later: a message that is not read would be lost.
    const from = sinceMs === null ? undefined : new Date(sinceMs - Math.max(0, this.aheadMs) - CLOCKS_MS);
    for await (const page of readHeaders(this.connection, this.nats.stream, { from, upTo })) {
      const stored = page.map((message) => ({ message, event: this.eventOf(message) }));
      const rows = await findRows(this.db, [...new Set(stored.map(({ event }) => event.eventId))]);
      const once: HandledEvent[] = [];
      for (const { message, event } of stored) {
        const handled = this.take(message, event, rows.get(event.eventId), sinceMs);
        if (handled) once.push(handled);
      }
      await handlings.check(once);
      onPage(this.messages);
    }
  }

  holds(row: DoneRow): boolean {
    return this.held.has(row.id);
  }

  /** After all reading: what the stream must still hold. */
  async keeping(): Promise<Keeping> {
    const info = await streamInfo(this.connection, this.nats.stream);
    return keepingOf(info, await readClock(this.db));
  }

  /**
   * Whether the handlers' consumer was surely given the message of a row that the stream does not hold. One that begins
   * somewhere in the stream may have begun behind it.
   */
  wouldGive(row: DoneRow): boolean {
    const subject = subjectOf(this.nats.subjectPrefix, row);
    if (subject === undefined) return false;
    if (this.consumer === undefined) return true;
    return this.consumer.config.deliver_policy === DeliverPolicy.All && takesSubject(this.consumer, subject);
  }

  /** @returns the event for its handlers, unless it is a copy, older than asked for, or given to nobody */
  private take(
    message: StoredHeaders,
    { eventId, eventType }: { eventId: string; eventType: string },
    row: FoundRow | undefined,
    sinceMs: number | null,
  ): HandledEvent | undefined {
    const isGivenOut = this.consumer === undefined || isGiven(this.consumer, message);
    // Each is remembered, also one that is too old to be counted: its row may be young enough. Not so the messages of other
    // applications, which may repeat their ids as they like. Without an id there is only the sequence, which no other has.
    const first = row
      ? this.held.add(row.id)
      : !isGivenOut || !bringsId(message.headers) || this.foreignIds.add(eventId);
    const storedMs = message.at.getTime();
    if (sinceMs !== null && (row?.dueMs ?? storedMs + this.aheadMs) < sinceMs) return undefined;
    const { sequence } = message;
    this.messages++;
    if (!row) this.foreign++;
    if (!first) {
      this.doubled.add({ eventId, eventType, sequence });
      return undefined;
    }
    if (!isGivenOut) return undefined;
    const acknowledged = sequence <= (this.consumer?.ack_floor.stream_seq ?? 0);
    // Without a row there is only the broker's clock, which may have been set since: rather too early, and not judged.
    const dueMs = row?.dueMs ?? storedMs + Math.min(0, this.aheadMs) - CLOCKS_MS;
    return { eventId, eventType, dueMs, state: acknowledged ? 'finished' : 'open' };
  }

  private eventOf({ subject, sequence, at, headers }: StoredHeaders) {
    const { stream, subjectPrefix } = this.nats;
    return incomingEvent({ subject, data: EMPTY, headers }, subjectPrefix, { stream, sequence, at });
  }
}

async function streamInfo(connection: NatsConnection, stream: string): Promise<StreamInfo> {
  const info = await readStreamInfo(connection, stream);
  if (info) return info;
  throw new ReconcileError(
    'no-stream',
    `There is no stream ${stream}: start a worker, which creates it, or name the right one in OUTBOX_STREAM.`,
  );
}
