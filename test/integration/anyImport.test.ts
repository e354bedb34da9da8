import fc from 'fast-check';
import { CommandFailure } from '../../src/cli/failure';
import { importLines } from '../../src/cli/importLines';
import { linesOf } from '../../src/cli/lines';
import { cloneDatabase, type TestDatabase } from '../support/database';

let database: TestDatabase;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\0', '\ud800', 'x'.repeat(2_000), '2026-02-30T00:00:00Z', '+275760-09-13T00:00:00Z', '2026-01-01T00:00:00Z')); // prettier-ignore
const value = fc.oneof(fc.jsonValue(), text, fc.uuid(), fc.integer(), fc.double());
const right = { type: fc.constant('Happened'), aggregateType: fc.constant('thing'), aggregateId: fc.constant('a'), payload: fc.jsonValue() }; // prettier-ignore
const more = Object.fromEntries(['eventId', 'version', 'companyId', 'orgUnitId', 'correlationId', 'causationId', 'headers', 'occurredAt', 'availableAt'].map((name) => [name, value])); // prettier-ignore
const event = fc.record({ ...right, ...more }, { requiredKeys: ['type', 'aggregateType', 'aggregateId', 'payload'] });
const line = fc.oneof(
  { weight: 5, arbitrary: fc.record(right).map((it) => JSON.stringify(it)) },
  { weight: 3, arbitrary: event.map((it) => JSON.stringify(it)) },
  fc.json(),
  text,
  fc.constantFrom('', '  ', '\r', '{"type":'),
);
const input = fc.oneof(
  { weight: 4, arbitrary: fc.array(line, { maxLength: 8 }).map((lines) => Buffer.from(lines.join('\n'))) },
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
);

/** Those that hold more than white space; of what is not UTF-8 nothing is asked, as none of it may be written. */
function countLines(bytes: Buffer): number {
  return bytes
    .toString()
    .replace(/^\ufeff/, '')
    .split('\n')
    .filter((text) => text.trim() !== '').length;
}

it('an import of anything writes whole transactions, or ends with the line that is at fault and where to go on', async () => {
  const outcomes = { whole: 0, partial: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(input, fc.integer({ min: 1, max: 4 }), async (bytes, batch) => {
      const { db } = database;
      await db.query('TRUNCATE :schema.event_queue');
      let committed = { events: 0, nextLine: 1 };
      const failure = await importLines(db, linesOf(inPieces(bytes), 100_000), {
        ...{ batch, fromLine: 1, wake: false, maxPayloadBytes: 100_000, signal: new AbortController().signal },
        onCommit: ({ events, nextLine }) => (committed = { events, nextLine }),
      }).catch((error: unknown) => error);
      if (failure !== undefined) {
        expect(failure).toBeInstanceOf(CommandFailure);
        const at = Number(/^Line (\d+)\b/.exec((failure as Error).message)?.[1]);
        expect(at).toBeGreaterThanOrEqual(committed.nextLine);
        expect(at).toBeLessThan(committed.nextLine + batch);
      }
      const { rows } = await db.query<{ count: number }>('SELECT count(*)::integer AS count FROM :schema.event_queue');
      expect(rows[0]?.count).toBe(committed.events);
      if (failure === undefined) expect(committed.events).toBe(countLines(bytes));
      if (failure === undefined && committed.events > 0) outcomes.whole++;
      if (failure !== undefined) outcomes[committed.events > 0 ? 'partial' : 'refused']++;
    }),
    { numRuns: 300 },
  );
  // Else the input would be of one kind, and nothing of the others would have been tried.
  for (const times of Object.values(outcomes)) expect(times).toBeGreaterThan(5);
}, 300_000);

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 7) yield await Promise.resolve(bytes.subarray(at, at + 7));
}
