import pino from 'pino';
import type { RevivedEvent } from '../../src/deadLetters/reemit';
import { RunStarter } from '../../src/deadLetters/startRuns';
import { RunStarts } from '../../src/handlers/runStarts';
import type { Database } from '../../src/postgres/database';
import { eventRecord } from '../support/attempts';
import { eventually } from '../support/eventually';

const logs: Record<string, unknown>[] = [];
const logger = pino(
  { level: 'debug' },
  { write: (line: string) => logs.push(JSON.parse(line) as Record<string, unknown>) },
);
beforeEach(() => logs.splice(0));

const events = (count: number): RevivedEvent[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ eventId: `${n}`, eventType: 'T', aggregateType: 't', aggregateId: 'a' },
    waiting: [{ handler: 'mail', attempts: 0, dueInMs: 0, reason: null }],
  }));

test('runs are started one at a time, in their order, while the caller goes on', async () => {
  const started: string[] = [];
  let open = 0;
  const starter = new RunStarter(
    {
      start: async ({ eventId }) => {
        expect(++open).toBe(1);
        await new Promise(setImmediate);
        open--;
        started.push(eventId);
      },
    },
    logger,
  );
  starter.add(events(3));
  starter.add(events(2));
  expect(started).toEqual([]);
  await eventually(() => started.length === 5);
  expect(started).toEqual(['0', '1', '2', '0', '1']);
});

test('after a failed start the rest is left to the sweep, in one line of debug', async () => {
  let tried = 0;
  const starter = new RunStarter({ start: () => Promise.reject(new Error(`Temporal is away ${++tried}`)) }, logger);
  starter.add(events(3));
  await eventually(() => logs.length > 0);
  expect({ tried, logs }).toMatchObject({ tried: 1, logs: [{ level: 20, left: 3, reason: 'Temporal is away 1' }] });
  starter.add(events(1));
  await eventually(() => tried === 2);
});

test('of a mass only the first 50 are queued', async () => {
  let started = 0;
  const starter = new RunStarter({ start: () => Promise.resolve(void started++) }, logger);
  starter.add(events(500));
  await eventually(() => started >= 50);
  await new Promise(setImmediate);
  expect(started).toBe(50);
});

test('a run of the fast path that cannot be started has a line of debug for each handler that waits for it', async () => {
  const db = { query: () => Promise.resolve({ rows: [] }) } as unknown as Database;
  const runs = { start: () => Promise.reject(new Error('Temporal is away')) };
  const event = eventRecord();
  const waiting = { dueInMs: 0, reason: null };
  await new RunStarts({ db, runs, logger, stopping: new AbortController().signal }).start(event, [
    { handler: 'bill', attempts: 1, ...waiting },
    { handler: 'mail', attempts: 0, ...waiting },
  ]);
  const about = { level: 20, eventId: event.eventId, eventType: 'ThingHappened', reason: 'Temporal is away' };
  expect(logs).toMatchObject([
    { ...about, handler: 'bill', attempt: 1 },
    { ...about, handler: 'mail', attempt: 0 },
  ]);
});
