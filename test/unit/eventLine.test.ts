import fc from 'fast-check';
import { eventOfLine, roundsANumber } from '../../src/cli/eventLine';

const EVENT = { type: 'T', aggregateType: 'a', aggregateId: '1', payload: {} };

test('times become dates, and optional fields may be null', () => {
  const line = JSON.stringify({
    ...EVENT,
    occurredAt: '2026-07-01T10:30:00.5+02:00',
    availableAt: null,
    companyId: null,
  });
  expect(eventOfLine(line)).toEqual({ ...EVENT, occurredAt: new Date('2026-07-01T08:30:00.500Z') });
});

test('a day that its month has not is refused, not made another one', () => {
  for (const given of [
    '2026-02-31T10:00:00Z',
    '2027-04-31T10:00:00+02:00',
    '2025-02-29T00:00:00Z',
    '2026-00-10T00:00:00Z',
  ])
    expect(() => eventOfLine(JSON.stringify({ ...EVENT, occurredAt: given }))).toThrow(/occurredAt must be a time/);
  expect(eventOfLine(JSON.stringify({ ...EVENT, occurredAt: '2028-02-29T00:00:00Z' })).occurredAt).toEqual(new Date('2028-02-29T00:00:00Z')); // prettier-ignore
});

test('a payload of null is a payload', () => {
  expect(eventOfLine(JSON.stringify({ ...EVENT, payload: null })).payload).toBeNull();
});

test('any payload that JSON can hold is read as it was written', () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(eventOfLine(`{"type":"T","aggregateType":"a","aggregateId":"1","payload":${json}}`).payload).toEqual(
        JSON.parse(json),
      );
    }),
  );
});

test.each([
  ['{', 'it is not valid JSON'],
  ['[]', 'it is a list, not a JSON object'],
  ['null', 'it is null, not a JSON object'],
  ['"x"', 'it is a string, not a JSON object'],
  ['{"type":"T","payload":1}', 'it lacks aggregateType, aggregateId'],
  [JSON.stringify({ ...EVENT, aggregateID: '1' }), 'it has a field "aggregateID"; the fields are type, aggregateType'],
  ['{"__proto__":{},"type":"T"}', 'it has a field "__proto__"'],
  [JSON.stringify({ ...EVENT, occurredAt: '2026-07-01T08:30:00' }), 'occurredAt must be a time with a zone'],
  [JSON.stringify({ ...EVENT, availableAt: 5 }), 'availableAt must be a time with a zone'],
  ['{"type":"T","aggregateType":"a","aggregateId":"1","payload":{"amount":12345678901234567.89}}', 'more digits than'],
])('%s is refused: %s', (line, reason) => {
  expect(() => eventOfLine(line)).toThrow(reason);
});

test('a refusal never quotes the payload', () => {
  const line = '{"type":"T","aggregateType":"a","aggregateId":"1","payload":{"name":"Mrs. Private"';
  expect(() => eventOfLine(line)).toThrow(/^it is not valid JSON$/);
});

describe('roundsANumber', () => {
  test('lets every number through that JavaScript writes', () => {
    fc.assert(fc.property(fc.json(), (json) => !roundsANumber(json)));
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(roundsANumber(JSON.stringify({ number }))).toBe(false);
      }),
    );
  });

  test('finds an integer that a double cannot hold, wherever it stands', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 2n ** 53n, max: 10n ** 30n }), fc.json(), (integer, other) => {
        // Zeros at the end say nothing: 1e30 is written back as it was read, though no double is exactly that.
        fc.pre(BigInt(Number(integer)) !== integer && integer % 10n !== 0n);
        expect(roundsANumber(`[${other},{"n":${integer}}]`)).toBe(true);
        expect(roundsANumber(`[${other},-${integer}]`)).toBe(true);
      }),
    );
  });

  test('leaves digits in texts alone, past any escape', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const json = JSON.stringify({ [`${text}12345678901234567890`]: `${text}\\"12345678901234567890` });
        expect(roundsANumber(json)).toBe(false);
      }),
    );
  });
});
