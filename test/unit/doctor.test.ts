import { judge as judgeClocks } from '../../src/doctor/clocks';
import { judge as judgeHorizon } from '../../src/doctor/horizon';
import { covers } from '../../src/doctor/stream';
import { judgeServer } from '../../src/doctor/temporalServer';
import { judge as judgeTable } from '../../src/doctor/vacuum';
import { judgeVersions, type Versions } from '../../src/doctor/versionsJudgement';

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

test('a Temporal that is too old for worker versioning is a fault where a build is set, and only there', () => {
  for (const version of ['1.29.1', '1.29.10', '1.32.0-rc.1', '2.0.0', '', 'cloud'])
    expect(judgeServer(version, 'here', 'b').level).toBe('ok');
  for (const version of ['1.29.0', '1.28.4', '1.9.9', '0.99.9']) {
    expect(judgeServer(version, 'here', undefined).level).toBe('ok');
    expect(judgeServer(version, 'here', 'b')).toMatchObject({
      level: 'fault',
      what: expect.stringContaining(`Temporal ${version} at here`) as string,
      todo: expect.stringMatching(/without OUTBOX_BUILD_ID/) as string,
    });
  }
});

test('of builds, nothing is said where nobody has one, and a sentence where all is in order', () => {
  expect(judgeVersions(versions({ current: null, own: undefined, unversioned: true }))).toEqual([]);
  expect(levels(judgeVersions(versions({})))).toEqual(['ok']);
});

test('a build that is not the current version is told with the command, and as a fault when nobody else works', () => {
  const forgotten = (unversioned: boolean) => judgeVersions(versions({ current: null, unversioned }));
  expect(forgotten(false)).toMatchObject([{ level: 'fault', todo: 'Run: set-current b' }]);
  expect(forgotten(true)).toMatchObject([{ level: 'warning', todo: 'Run: set-current b' }]);
  expect(judgeVersions(versions({ own: 'new', polling: new Set(['b', 'new']) }))).toMatchObject([
    { level: 'warning', todo: expect.stringMatching(/set-current new$/) as string },
  ]);
  expect(judgeVersions(versions({ own: undefined, unversioned: true }))).toMatchObject([{ level: 'warning' }]);
  expect(judgeVersions(versions({ own: 'new', polling: new Set(['new']) }))).toMatchObject([
    {
      level: 'fault',
      todo: 'Start workers with OUTBOX_BUILD_ID=b, or make build new the current one: set-current new',
    },
  ]);
});

test('a run that is pinned to a build without workers is a fault, and one that is about to move is not', () => {
  const runs = [{ name: 'relay', workflowId: 'outbox-relay', build: 'a' }];
  expect(judgeVersions(versions({ runs }))).toMatchObject([
    {
      level: 'fault',
      todo: expect.stringMatching(/OUTBOX_BUILD_ID=a, or .*--workflow-id outbox-relay .* auto_upgrade$/) as string,
    },
  ]);
  expect(levels(judgeVersions(versions({ runs, polling: new Set(['a', 'b']) })))).toEqual(['warning']);
});

/** Build b, current and at work, as these settings have it. */
function versions(over: Partial<Versions>): Versions {
  return {
    ...{ namespace: 'default', deploymentName: 'outbox', own: 'b', current: 'b', polling: new Set(['b']) },
    ...{ unversioned: false, runs: [], command: (buildId: string) => `set-current ${buildId}` },
    ...over,
  };
}
