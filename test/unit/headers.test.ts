import fc from 'fast-check';
import { connect, headers as newHeaders } from 'nats';
import { decodeHeaderValue, encodeHeaderValue, headerBytes, headersOf } from '../../src/broker/headers';
import type { ClaimedEvent } from '../../src/event';
import { testEnvironment } from '../support/environment';

const wellFormed = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom(' ', '%', '\r', '\n', '\t', '\u0000', ':', '%2', '2', '0', '🎬', '\u00a0', '\u2028', '+') }),
); // prettier-ignore

const claimed: ClaimedEvent = {
  id: '1',
  eventId: '00000000-0000-4000-8000-00000000aaaa',
  eventType: 'Happened',
  aggregateType: 'thing',
  aggregateId: 'a',
  companyId: null,
  orgUnitId: null,
  payload: '1',
  headers: null,
  version: 1,
  correlationId: null,
  causationId: null,
  occurredAt: '2026-01-01T00:00:00.000000Z',
  deferrals: 0,
  failureReason: null,
};

const SOURCE = '/outbox/public';

describe('a header value', () => {
  it('is printable ASCII once encoded, without a blank at either end, and decoded what it was', () => {
    fc.assert(
      fc.property(wellFormed, (value) => {
        const encoded = encodeHeaderValue(value);
        expect(encoded).toMatch(/^[\x20-\x7e]*$/);
        expect(encoded.trim()).toBe(encoded);
        expect(decodeHeaderValue(encoded)).toBe(value);
      }),
      { numRuns: 2_000 },
    );
  });

  it('of plain text stays as it is, for whoever reads it without decoding', () => {
    for (const value of [
      '',
      'a',
      'order 7/b; c=d',
      '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      '+&?#"',
    ]) {
      expect(encodeHeaderValue(value)).toBe(value);
    }
  });

  it('that somebody else did not encode is read as it is', () => {
    expect(decodeHeaderValue('100%')).toBe('100%');
    expect(decodeHeaderValue('%zz é')).toBe('%zz é');
  });

  it('never throws for half a character, which becomes the replacement character', () => {
    expect(decodeHeaderValue(encodeHeaderValue('a\ud800b'))).toBe('a\ufffdb');
  });

  it('goes through a real broker unchanged, whatever text it is', async () => {
    const connection = await connect({ servers: testEnvironment().natsUrl });
    try {
      const values = fc.sample(wellFormed, 300);
      const headers = newHeaders();
      values.forEach((value, index) => headers.append(`h${index}`, encodeHeaderValue(value)));
      const subject = `headers.${process.pid}`;
      const received = connection.subscribe(subject, { max: 1 });
      connection.publish(subject, '', { headers });
      for await (const message of received) {
        expect(values.map((_, index) => decodeHeaderValue(message.headers!.get(`h${index}`)))).toEqual(values);
      }
    } finally {
      await connection.close();
    }
  });
});

describe('the headers of an event', () => {
  it('hold the whole record beside the body', () => {
    const headers = headersOf(
      {
        ...claimed,
        aggregateId: 'ü 7',
        companyId: '00000000-0000-4000-8000-00000000bbbb',
        orgUnitId: '00000000-0000-4000-8000-00000000cccc',
        correlationId: ' c',
        causationId: 'd\n',
        headers: { traceparent: '00-1-2-01', note: '50 %' },
      },
      SOURCE,
    );
    expect(Object.fromEntries([...headers].map(([name, values]) => [name, values.join()]))).toEqual({
      'Nats-Msg-Id': claimed.eventId,
      'Outbox-Event-Type': 'Happened',
      'Outbox-Aggregate-Type': 'thing',
      'Outbox-Aggregate-Id': '%C3%BC 7',
      'Outbox-Version': '1',
      'Outbox-Occurred-At': '2026-01-01T00:00:00.000000Z',
      'Outbox-Company-Id': '00000000-0000-4000-8000-00000000bbbb',
      'Outbox-Org-Unit-Id': '00000000-0000-4000-8000-00000000cccc',
      'Outbox-Correlation-Id': '%20c',
      'Outbox-Causation-Id': 'd%0A',
      traceparent: '00-1-2-01',
      note: '50 %25',
      'ce-specversion': '1.0',
      'ce-id': claimed.eventId,
      'ce-source': '/outbox/public',
      'ce-type': 'Happened',
      'ce-time': '2026-01-01T00:00:00.000000Z',
      'ce-datacontenttype': 'application/json',
      'ce-subject': '%C3%BC%207',
      'ce-partitionkey': '%C3%BC%207',
      'ce-correlationid': '%20c',
      'ce-traceparent': '00-1-2-01',
    });
  });

  it.each([
    ['a list', ['a']],
    ['a text', 'a'],
    ['a value that is no text', { a: 1 }],
    ['a value that is null', { a: null }],
    ['a name with a colon', { 'a:b': '1' }],
    ['an empty name', { '': '1' }],
    ['a name that would forge the id', { 'Nats-Msg-Id': '1' }],
    ['a name that would forge the record', { 'outbox-version': '1' }],
  ])('of a foreign writer are refused when they are %s', (_name, given) => {
    expect(() => headersOf({ ...claimed, headers: given as never }, SOURCE)).toThrow(/header/);
  });

  it('are measured exactly as they are sent', () => {
    fc.assert(
      fc.property(wellFormed, fc.dictionary(fc.stringMatching(/^h[A-Za-z0-9_-]{1,20}$/), wellFormed), (text, given) => {
        const headers = headersOf({ ...claimed, aggregateId: text, headers: given }, SOURCE);
        const sent = (headers as unknown as { encode(): Uint8Array }).encode();
        expect(headerBytes(headers)).toBe(sent.length);
      }),
    );
  });
});
