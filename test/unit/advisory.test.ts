import fc from 'fast-check';
import { readAdvisory } from '../../src/consumer/advisory';

const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

describe('an advisory of a message that was given up', () => {
  it('says which message, and how often it was delivered', () => {
    expect(readAdvisory(bytes({ type: 'x', stream_seq: 9, deliveries: 10 }))).toEqual({ sequence: 9, deliveries: 10 });
  });

  it.each(['', 'null', '[]', '{"stream_seq":"9"}', '{"stream_seq":0}', '{"stream_seq":1.5}', '{"stream_seq":9e99}'])(
    'is not %j',
    (text) => expect(readAdvisory(bytes(text))).toBeUndefined(),
  );

  it('never throws, whatever was published to its subject, and is within what a dead letter can hold', () => {
    const near = fc.record(
      { stream_seq: fc.oneof(fc.double(), fc.jsonValue()), deliveries: fc.oneof(fc.double(), fc.jsonValue()) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.json().map(bytes), near.map(bytes)), (body) => {
        const read = readAdvisory(body);
        if (read === undefined) return;
        expect(read.sequence).toBeGreaterThanOrEqual(1);
        expect(Number.isSafeInteger(read.sequence)).toBe(true);
        expect(Number.isInteger(read.deliveries) && read.deliveries >= 1).toBe(true);
        expect(read.deliveries).toBeLessThanOrEqual(2 ** 31 - 1);
      }),
      { numRuns: 1_000 },
    );
  });
});
