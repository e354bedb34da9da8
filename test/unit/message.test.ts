import fc from 'fast-check';
import { headers as newHeaders, type MsgHdrs } from 'nats';
import { headersOf } from '../../src/broker/headers';
import { bringsId, incomingEvent } from '../../src/consumer/message';
import { readReply, replyFor } from '../../src/consumer/reply';
import { UUID, type ClaimedEvent } from '../../src/event';

const AT = new Date('2026-01-02T03:04:05.678Z');
const position = (sequence = 7) => ({ stream: 'EVENTS', sequence, at: AT });
const body = (text: string) => new TextEncoder().encode(text);

/** As the client reads them from the wire. */
function asRead(headers: MsgHdrs): MsgHdrs {
  const known = headers as unknown as { encode(): Uint8Array; constructor: { decode(bytes: Uint8Array): MsgHdrs } };
  return known.constructor.decode(known.encode());
}

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
    const message = {
      subject: 'events.thing.ThingHappened',
      data: body(event.payload),
      headers: headersOf(event, '/outbox/public'),
    };
    expect(incomingEvent(message, 'events', position())).toEqual({ ...record, source: 'EVENTS/7' });
  });

  it('is the record that was published, whatever texts it holds', () => {
    const character = fc
      .oneof(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        fc.constantFrom(' ', '%', '"', '\\', '\n', 'ü', '🎬'),
      )
      .filter((it) => it !== '\u0000');
    const text = (maxLength: number, minLength = 0) => fc.string({ unit: character, minLength, maxLength });
    const name = fc.stringMatching(/^(ce-)?x[A-Za-z0-9_-]{1,20}$/);
    const uuid = fc.uuid().map((it) => it.toLowerCase());
    const record = fc.record({
      eventId: uuid,
      eventType: fc.stringMatching(/^[A-Za-z0-9_-]{1,128}$/),
      aggregateType: fc.stringMatching(/^[A-Za-z0-9_-]{1,128}$/),
      aggregateId: text(300, 1),
      companyId: fc.option(uuid),
      orgUnitId: fc.option(uuid),
      payload: fc.json(),
      headers: fc.option(fc.dictionary(name, text(50), { minKeys: 1 })),
      version: fc.integer({ min: 1, max: 2_147_483_647 }),
      correlationId: fc.option(text(300)),
      causationId: fc.option(text(300)),
      occurredAt: fc.constant('2026-01-02T03:04:05.678901Z'),
    });
    fc.assert(
      fc.property(record, (given) => {
        const event = { ...given, id: '1', deferrals: 0, failureReason: null };
        const headers = asRead(headersOf(event, '/outbox/public'));
        const message = { subject: 'any.thing.at', data: body(event.payload), headers };
        const { source: _source, ...read } = incomingEvent(message, 'events', position());
        // Without a prototype, as a dictionary of any names.
        expect({ ...read, headers: { ...read.headers } }).toEqual({ ...given, headers: { ...given.headers } });
      }),
      { numRuns: 500 },
    );
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

  it('that has an id of its publisher is told from one that has only its place', () => {
    const given = (entries: Record<string, string>) => {
      const headers = newHeaders();
      for (const [key, value] of Object.entries(entries)) headers.append(key, value);
      return bringsId(headers);
    };
    expect(bringsId(undefined)).toBe(false);
    expect(given({ 'Nats-Msg-Id': '' })).toBe(false);
    expect(given({ 'ce-id': '1' })).toBe(false);
    expect(given({ 'Nats-Msg-Id': 'x' })).toBe(true);
    expect(given({ 'ce-id': '1', 'ce-specversion': '1.0' })).toBe(true);
  });

  it('of a CloudEvent whose type is no name here has the type of its subject', () => {
    const headers = newHeaders();
    for (const [key, value] of [['ce-specversion', '1.0'], ['ce-id', '0B5D6D5E-2F0C-4A52-9D0A-5B1F0C1D2E3F'], ['ce-type', 'com.example.moved']]) headers.append(key!, value!); // prettier-ignore
    const event = incomingEvent({ subject: 'events.thing.Moved', data: body('1'), headers }, 'events', position());
    expect(event).toMatchObject({
      eventType: 'Moved',
      eventId: '0b5d6d5e-2f0c-4a52-9d0a-5b1f0c1d2e3f',
      headers: { 'ce-type': 'com.example.moved' },
    });
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
