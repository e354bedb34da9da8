import { judge as judgeClocks } from '../../src/doctor/clocks';
import { judge as judgeHorizon } from '../../src/doctor/horizon';
import { covers } from '../../src/doctor/stream';
import { judge as judgeTable } from '../../src/doctor/vacuum';

const DAY_MS = 86_400_000;
const levels = (found: readonly { level: string }[]) => found.map(({ level }) => level);

test('a clock that is seconds away is information and never more; which one is ahead is said', () => {
  expect(judgeClocks([{ name: 'NATS', aheadMs: -90_000 }])[0]).toMatchObject({
    level: 'warning',
    what: expect.stringMatching(/clock of NATS is 1 min 30 s behind this host's/) as string,
  });
  expect(levels(judgeClocks([{ name: 'the database', aheadMs: 1_500 }]))).toEqual(['ok']);
});

test('the ledger must remember longer than the stream keeps', () => {
  expect(levels(judgeHorizon(7 * DAY_MS, 30 * DAY_MS, { stream: 'EVENTS', duplicateWindowMs: 3_600_000 }))).toEqual([
    'ok',
  ]);
  expect(levels(judgeHorizon(30 * DAY_MS, 30 * DAY_MS, { stream: 'EVENTS', duplicateWindowMs: 3_600_000 }))).toEqual([
    'fault',
  ]);
  expect(levels(judgeHorizon(0, 30 * DAY_MS, { stream: 'EVENTS', duplicateWindowMs: 3_600_000 }))).toEqual(['warning']);
  expect(levels(judgeHorizon(DAY_MS, 30 * DAY_MS, { stream: 'EVENTS', duplicateWindowMs: 2 * DAY_MS }))).toEqual([
    'ok',
    'warning',
  ]);
});

test('dead rows count when there are many, and more than live ones', () => {
  const table = { table: 'event_queue', server: true, off: false };
  expect(judgeTable({ ...table, dead: 99_000, live: 10 }, 's')).toEqual([]);
  expect(judgeTable({ ...table, dead: 200_000, live: 1_000_000 }, 's')).toEqual([]);
  expect(judgeTable({ ...table, dead: 200_000, live: 10 }, 's')[0]?.todo).toMatch(
    /VACUUM \(ANALYZE\) "s"\.event_queue/,
  );
});

test('a stream or a durable has all events when one of its subjects covers the prefix', () => {
  for (const subject of ['>', 'events.>', 'events.*.*', '*.>', '*.*.*']) expect(covers(subject, 'events')).toBe(true);
  for (const subject of ['events', 'events.order.>', 'other.>', 'events.*'])
    expect(covers(subject, 'events')).toBe(false);
});
