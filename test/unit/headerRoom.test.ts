import fc from 'fast-check';
import { headerBytes, headersOf } from '../../src/broker/headers';
import { loadConfig } from '../../src/config';
import { EnqueueError } from '../../src/errors';
import { DEFAULT_MAX_PAYLOAD_BYTES, DERIVED_HEADER, type ClaimedEvent, type NewEvent } from '../../src/event';
import { encodeEvent } from '../../src/outbox/encode';

/** What a broker takes by default, headers included. */
const MIB = 1_048_576;
const ROOM = MIB - DEFAULT_MAX_PAYLOAD_BYTES;
const LONGEST_SOURCE = loadConfig({ OUTBOX_CLOUDEVENTS_SOURCE: `/${'%2F'.repeat(51)}` }).nats.cloudEventsSource;
const TIME = '2026-01-01T00:00:00.000000Z';
const UUID = '00000000-0000-4000-8000-00000000aaaa';

/** Of an event as `enqueueEvents` takes it, with every fixed part at its longest; 0 when it is refused. */
function bytesOf(given: Partial<NewEvent>, ambient: Record<string, string> = {}): number {
  const longest = {
    ...{ type: 'T'.repeat(128), aggregateType: 'A'.repeat(128), aggregateId: 'a', payload: 1, version: 2_147_483_647 },
    ...{ companyId: UUID, orgUnitId: UUID, ...given },
  };
  try {
    const { id, record } = encodeEvent(longest, 0, DEFAULT_MAX_PAYLOAD_BYTES, ambient);
    const read = JSON.parse(record) as Record<string, never>;
    const event: ClaimedEvent = {
      ...{ id: '1', eventId: id, eventType: read.t!, aggregateType: read.a!, aggregateId: read.k!, companyId: UUID },
      ...{
        orgUnitId: UUID,
        payload: '1',
        headers: read.h ?? null,
        version: read.v!,
        deferrals: 0,
        failureReason: null,
      },
      ...{ correlationId: read.r ?? null, causationId: read.s ?? null, occurredAt: TIME, availableAt: TIME },
    };
    return headerBytes(headersOf(event, LONGEST_SOURCE));
  } catch (error) {
    if (error instanceof EnqueueError && error.kind === 'too-large') return 0;
    throw error;
  }
}

describe('the headers of any event that is accepted', () => {
  it('fit beside the largest payload into what a broker takes by default', () => {
    const unit = fc.constantFrom('a', ' ', '"', '%', 'ü', '€', '🎬');
    const text = fc.oneof(
      fc.string({ unit, minLength: 1, maxLength: 512 }),
      fc.nat(512).map((length) => '€'.repeat(length + 1)),
      // At the limit of an attribute that an event need not have.
      fc.integer({ min: 250, max: 260 }).map((length) => 'x'.repeat(length)),
    );
    const name = fc.stringMatching(/^(ce-|X-)[a-z]{1,20}$/).filter((it) => !DERIVED_HEADER.test(it));
    const given = fc.record({
      aggregateId: text,
      correlationId: text,
      causationId: text,
      headers: fc.dictionary(name, text, { maxKeys: 12 }),
    });
    fc.assert(
      fc.property(given, text, text, (event, tracestate, baggage) => {
        const ambient = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate, baggage };
        expect(bytesOf(event, ambient)).toBeLessThanOrEqual(ROOM);
      }),
      { numRuns: 1_000 },
    );
  });

  it('fit also where everything is at its limit, and little of the room is left then', () => {
    const most = 'x'.repeat(256);
    const texts = { aggregateId: most, correlationId: most, causationId: most };
    const headers = { tracestate: most, traceparent: most, 'content-type': most };
    const withFill = (length: number) => bytesOf({ ...texts, headers: { ...headers, fill: 'x'.repeat(length) } });
    let length = ROOM;
    while (withFill(length) === 0) length--;
    expect(withFill(length)).toBeLessThanOrEqual(ROOM);
    expect(withFill(length)).toBeGreaterThan(ROOM - 256);
  });

  it('leave out attributes of a CloudEvent that are too long, and never the record', () => {
    const headersWith = (aggregateId: string) =>
      headersOf(
        {
          ...{
            id: '1',
            eventId: UUID,
            eventType: 'T',
            aggregateType: 'a',
            aggregateId,
            companyId: null,
            orgUnitId: null,
          },
          ...{ payload: '1', headers: null, version: 1, correlationId: null, causationId: null, deferrals: 0 },
          ...{ failureReason: null, occurredAt: '0001-01-01 00:00:00+00 BC' },
        },
        '/outbox/public',
      );
    const long = headersWith('€'.repeat(1_024));
    expect(long.has('ce-subject')).toBe(false);
    expect(long.get('Outbox-Aggregate-Id')).toBe('%E2%82%AC'.repeat(1_024));
    expect(long.get('ce-id')).toBe(UUID);
    // A time that no CloudEvent may have.
    expect(long.has('ce-time')).toBe(false);
    expect(headersWith('x'.repeat(256)).get('ce-subject')).toBe('x'.repeat(256));
    expect(headersWith('\u0085').has('ce-partitionkey')).toBe(false);
  });
});
