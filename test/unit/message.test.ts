import fc from 'fast-check';
import { headers as newHeaders } from 'nats';
import { headersOf } from '../../src/broker/headers';
import { incomingEvent } from '../../src/consumer/message';
import { readReply, replyFor } from '../../src/consumer/reply';
import { UUID, type ClaimedEvent } from '../../src/event';

const AT = new Date('2026-01-02T03:04:05.678Z');
const position = (sequence = 7) => ({ stream: 'EVENTS', sequence, at: AT });
const body = (text: string) => new TextEncoder().encode(text);

describe('an event of a message', () => {
  it('is the record that was published', () => {
    const event: ClaimedEvent = {
      id: '1',
      eventId: '0b5d6d5e-2f0c-4a52-9d0a-5b1f0c1d2e3f',
      eventType: 'ThingHappened',
      aggregateType: 'thing',
      aggregateId: ' a/ü %41 ',
      companyId: '6d5e0b5d-2f0c-4a52-9d0a-5b1f0c1d2e3f',
      orgUnitId: null,
      payload: '{"n": 12345678901234567890.10}',
      headers: { traceparent: '00-1', note: 'grün' },
      version: 3,
      correlationId: 'c 1',
      causationId: null,
      occurredAt: '2026-01-02T03:04:05.678901Z',
      availableAt: '2026-01-02T04:04:05.678901Z',
      deferrals: 0,
      failureReason: null,
    };
    const { id: _id, deferrals: _deferrals, failureReason: _reason, ...record } = event;
    const message = { subject: 'events.thing.ThingHappened', data: body(event.payload), headers: headersOf(event) };
    expect(incomingEvent(message, 'events', position())).toEqual({ ...record, source: 'EVENTS/7' });
  });

  it('of a foreign publisher is derived from subject and position', () => {
    const message = { subject: 'events.thing.Happened', data: body('no json') };
    const event = incomingEvent(message, 'events', position());
    expect(event).toMatchObject({
      eventType: 'Happened',
      aggregateType: 'thing',
      version: 1,
      payload: 'no json',
      companyId: null,
      headers: null,
      occurredAt: '2026-01-02T03:04:05.678000Z',
    });
    expect(event.eventId).toMatch(UUID);
    expect(event.aggregateId).toBe(event.eventId);
    expect(incomingEvent(message, 'events', position()).eventId).toBe(event.eventId);
    expect(incomingEvent(message, 'events', position(8)).eventId).not.toBe(event.eventId);
  });

  it.each([
    ['0B5D6D5E-2F0C-4A52-9D0A-5B1F0C1D2E3F', '0b5d6d5e-2f0c-4a52-9d0a-5b1f0c1d2e3f'],
    ['order-17', expect.stringMatching(UUID)],
  ])('has an id for the message id %s, the same at every sequence', (given, wanted: unknown) => {
    const headers = newHeaders();
    headers.set('Nats-Msg-Id', given);
    const id = (sequence: number) =>
      incomingEvent({ subject: 'events.a.B', data: body(''), headers }, 'events', position(sequence)).eventId;
    expect(id(1)).toEqual(wanted);
    expect(id(2)).toBe(id(1));
  });

  it('of core NATS has a random id when it brings none', () => {
    const id = () => incomingEvent({ subject: 'events.a.B', data: body('') }, 'events', null);
    expect(id().source).toBe('core/0');
    expect(id().eventId).not.toBe(id().eventId);
  });

  it.each([
    ['Outbox-Company-Id', '7', { companyId: null }],
    ['Outbox-Version', '-1', { version: 1 }],
    ['Outbox-Version', '9999999999', { version: 1 }],
    ['Outbox-Occurred-At', 'yesterday', { occurredAt: '2026-01-02T03:04:05.678000Z' }],
    ['Outbox-Event-Type', 'a.b', { eventType: 'Happened' }],
    ['Outbox-Aggregate-Id', '%00', { aggregateId: '\ufffd' }],
    ['X-Other', '100%', { headers: { 'X-Other': '100%' } }],
    ['__proto__', 'x', { version: 1 }],
  ])('takes what is usable of a header %s: %s', (key, value, wanted) => {
    const headers = newHeaders();
    headers.append(key, value);
    const message = { subject: 'events.thing.Happened', data: body('1'), headers };
    expect(incomingEvent(message, 'events', position())).toMatchObject(wanted);
  });

  it('never throws, and holds nothing that PostgreSQL could not store', () => {
    fc.assert(
      fc.property(fc.string(), fc.uint8Array(), fc.string({ unit: 'binary' }), (subject, data, value) => {
        const headers = newHeaders();
        for (const key of ['Nats-Msg-Id', 'Outbox-Event-Type', 'Outbox-Aggregate-Id', 'Outbox-Occurred-At', 'Other']) {
          try {
            headers.append(key, encodeURIComponent(value));
          } catch {
            // No header can carry it.
          }
        }
        const { payload: _payload, ...record } = incomingEvent({ subject, data, headers }, 'events', position());
        expect(record.eventId).toMatch(UUID);
        expect(JSON.stringify(record)).not.toMatch(/\\u0000|\\ud[89a-f]/i);
      }),
    );
  });
});

describe('a reply subject', () => {
  it('tells of the delivery, in both forms', () => {
    const wanted = { stream: 'EVENTS', durable: 'outbox', deliveries: 2, sequence: 9, at: AT };
    const nanoseconds = `${AT.getTime()}000000`;
    expect(readReply(`$JS.ACK.EVENTS.outbox.2.9.14.${nanoseconds}.0`)).toEqual(wanted);
    expect(readReply(`$JS.ACK._.hash.EVENTS.outbox.2.9.14.${nanoseconds}.0.rand`)).toEqual(wanted);
    expect(readReply(replyFor(wanted))).toMatchObject({ stream: 'EVENTS', durable: 'outbox', sequence: 9 });
  });

  it.each([
    undefined,
    '',
    'x',
    '$JS.ACK',
    '$JS.ACK.a.b.c.d.e.f.g',
    '$JS.API.STREAM.DELETE.EVENTS',
    'a.b.c.d.e.f.g.h.i',
  ])('is not %s', (given) => expect(readReply(given)).toBeUndefined());
});
