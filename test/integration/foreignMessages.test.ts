import fc from 'fast-check';
import { headers as newHeaders, type MsgHdrs } from 'nats';
import { incomingEvent, type Message } from '../../src/consumer/message';
import { handOver } from '../../src/deliveries/handOver';
import { recordExhausted } from '../../src/deliveries/recordExhausted';
import type { IncomingEvent } from '../../src/handlers/incoming';
import { claimLedger } from '../../src/ledger/claim';
import { cloneDatabase, type TestDatabase } from '../support/database';

let database: TestDatabase;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

const OURS = ['Nats-Msg-Id', 'Outbox-Event-Type', 'Outbox-Aggregate-Type', 'Outbox-Aggregate-Id', 'Outbox-Version', 'Outbox-Company-Id', 'Outbox-Org-Unit-Id', 'Outbox-Correlation-Id', 'Outbox-Causation-Id', 'Outbox-Occurred-At', 'Outbox-Available-At']; // prettier-ignore
const CLOUD = ['specversion', 'id', 'source', 'type', 'time', 'subject', 'partitionkey', 'correlationid', 'causationid', 'traceparent', 'tracestate']; // prettier-ignore
const NAMES = [...OURS, ...CLOUD.flatMap((name) => [`ce-${name}`, `Ce-${name}`]), 'traceparent', '__proto__', 'other'];

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.uuid(),
  fc.constantFrom('2026-02-30T00:00:00Z', '0000-01-01T00:00:00Z', '2026-01-01T00:00:00+23:00', '9999-12-31T23:59:59.999999999Z', '-1', '99999999999', '\0', '1.0'), // prettier-ignore
  // A character of two halves at every limit.
  fc.nat({ max: 4 }).map((at) => `${'x'.repeat(1_020 + at)}🎬🎬🎬`),
  fc.nat({ max: 3 }).map((at) => `${'x'.repeat(125 + at)}🎬🎬`),
);
const value = fc.oneof(text, text.map(encoded), fc.constantFrom('%00', '%ED%A0%80', '%', '"a\\"b"'));
const message = fc.record({
  subject: fc.oneof(fc.constant('events.thing.Happened'), text),
  data: fc.uint8Array(),
  headers: fc.array(fc.tuple(fc.constantFrom(...NAMES), value), { maxLength: 12 }).map(headersOf),
});

it('any message of any publisher can be claimed, and stored with what it said when its handler fails or the broker gives it up', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 10 }), async (messages) => {
      const { db } = database;
      await db.query('TRUNCATE :schema.deliveries, :schema.processed_events');
      const events = messages.map((given, at) => incomingEvent(given as Message, 'events', { stream: 'S', sequence: at + 1, at: new Date() })); // prettier-ignore
      const due = events.map(({ eventId, availableAt, occurredAt }) => ({
        ...{ eventId, handler: 'failed', dueMs: Date.parse(availableAt ?? occurredAt) },
      }));
      // Of one id twice, the second waits for the first.
      const { verdicts } = await claimLedger(db, due, { leaseMs: 30_000, maxLeaseMs: 60_000 });
      expect(verdicts).toHaveLength(events.length);
      await handOver(
        db,
        events.map((event) => ({ ...{ event, handler: 'overtaken', startedAt: null, attempts: 1, dueInMs: 0, reason: 'no', dead: false } })), // prettier-ignore
      );
      const exhausted = events.map((event) => ({ event, handlers: ['given-up'], deliveries: 10 }));
      await recordExhausted(db, first(exhausted), { maxLeaseMs: 60_000 });
      for (const handler of ['overtaken', 'given-up']) {
        const { rows } = await db.query<{ id: string; record: object; aggregate: string; body: Buffer }>(
          `SELECT event_id AS id, record, aggregate_id AS aggregate, body FROM :schema.deliveries WHERE handler = $1`,
          [handler],
        );
        expect(rows.map(({ id }) => id).sort()).toEqual([...new Set(events.map(({ eventId }) => eventId))].sort());
        for (const row of rows) expect(events.filter(({ eventId }) => eventId === row.id).map(stored)).toContainEqual({ ...row }); // prettier-ignore
      }
    }),
    { numRuns: 150 },
  );
}, 300_000);

/** As its row in `deliveries` should have it. */
function stored(event: IncomingEvent) {
  const { payload, source: _source, ...record } = event;
  return {
    id: event.eventId,
    record: JSON.parse(JSON.stringify(record)) as object,
    aggregate: event.aggregateId,
    body: Buffer.from(payload),
  };
}

function first<T extends { event: IncomingEvent }>(given: readonly T[]): T[] {
  return [...new Map([...given].reverse().map((each) => [each.event.eventId, each])).values()];
}

function encoded(given: string): string {
  return encodeURIComponent(given.toWellFormed());
}

function headersOf(given: readonly (readonly [string, string])[]): MsgHdrs {
  const headers = newHeaders();
  for (const [name, value] of given) {
    try {
      headers.append(name, value);
    } catch {
      // No header can carry it.
    }
  }
  return headers;
}
