import type { Backend } from '../figures';
import type { Target } from '../targets';

/** What issue 4 asks of each backend. */
const ASKED = {
  db: { ratio: 0.7, eventsPerSecond: 4_000, p50Ms: 4, activities: 10 },
  nats: { ratio: 0.5, eventsPerSecond: 3_000, p50Ms: 8, activities: 15 },
};
/** Not slowed by more than a third. */
const LEAST_RATE = 2 / 3;
const MOST_LATENCY = 4 / 3;

/** What the report shows of the handlers' bench. Several figures below stand in objects of their own. */
export function handlerTargets(area: Backend): Target[] {
  const asked = ASKED[area];
  const rows: (Omit<Target, 'area' | 'label'> & { label: string })[] = [
    { figure: 'ratio', label: 'drain ÷ bare loop', atLeast: asked.ratio },
    { figure: 'eventsPerSecond', label: 'drain', unit: 'events/s', atLeast: asked.eventsPerSecond },
    { figure: 'bareLoopEventsPerSecond', label: 'bare loop', unit: 'events/s' },
    { figure: 'activitiesPer1000', label: 'activities per 1,000 events, drain', atMost: asked.activities },
    { figure: 'historyEventsPer1000', label: 'history events per 1,000 events, drain' },
    { figure: 'deliveryRuns', label: 'delivery runs of the drains', atMost: 0 },
    { figure: 'cpuMsPer1000', label: 'CPU per 1,000 drained events', unit: 'ms' },
    { figure: 'bareLoopCpuMsPer1000', label: 'the same, bare loop', unit: 'ms' },
    { figure: 'memoryMb', label: 'peak memory of the worker', unit: 'MiB' },
    { figure: 'bareLoopMemoryMb', label: 'peak memory of the bare loop', unit: 'MiB' },
    { figure: 'p50Ms', label: 'commit → effect at 100/s, p50', unit: 'ms', atMost: asked.p50Ms },
    { figure: 'p90Ms', label: 'commit → effect at 100/s, p90', unit: 'ms' },
    { figure: 'p99Ms', label: 'commit → effect at 100/s, p99', unit: 'ms', atMost: 40 },
    { figure: 'maxMs', label: 'commit → effect at 100/s, max', unit: 'ms' },
    { figure: 'latestStartMs', label: 'the sender, at most behind its schedule by', unit: 'ms' },
    { figure: 'failing.runsStarted', label: '1 % failing: delivery runs', exactly: 'failing.expectedRuns' },
    { figure: 'failing.runsEnded', label: '… of which ended', exactly: 'failing.expectedRuns' },
    { figure: 'failing.handledTwice', label: '… effects twice', atMost: 0 },
    ...slowdown('failing', '1 % failing'),
    { figure: 'storm.runs', label: 'all failing: delivery runs', exactly: 'storm.events' },
    { figure: 'storm.runsEnded', label: '… of which ended', exactly: 'storm.events' },
    { figure: 'storm.handledTwice', label: '… effects twice', atMost: 0 },
    { figure: 'storm.largestHistoryOfAll', label: '… events of the largest history', atMost: 10_000 },
    // The limiter's 100 a second, as they arrive.
    { figure: 'storm.mostRunStartsPerSecond', label: '… run starts a second, at most', atMost: 110 },
    { figure: 'storm.handledAfterMs', label: '… all handled after its end', unit: 'ms' },
    { figure: 'storm.memoryStartMb', label: '… memory of the worker, before', unit: 'MiB' },
    { figure: 'storm.memoryPeakMb', label: '… at most', unit: 'MiB' },
    { figure: 'storm.memoryEndMb', label: '… after', unit: 'MiB' },
    ...slowdown('storm', 'all failing, another handler'),
    ...(['transactional', 'external'] as const).flatMap((kind) => [
      { figure: `recovery.${kind}NotStartedMs`, label: `worker killed, ${kind}, not started`, ...within(15_000) },
      { figure: `recovery.${kind}StartedMs`, label: `worker killed, ${kind}, started`, ...within(40_000) },
    ]),
  ];
  return rows.map((row) => ({ ...row, area, label: `${area}: ${row.label}` }));
}

function slowdown(part: string, label: string): Omit<Target, 'area'>[] {
  return [
    { figure: `${part}.perSecondBefore`, label: `${label}: handled before`, unit: 'events/s' },
    { figure: `${part}.perSecondDuring`, label: '… meanwhile', unit: 'events/s' },
    { figure: `${part}.perSecondRatio`, label: '… meanwhile ÷ before', atLeast: LEAST_RATE },
    { figure: `${part}.p50MsBefore`, label: `${label}: p50 before`, unit: 'ms' },
    { figure: `${part}.p50MsDuring`, label: '… meanwhile', unit: 'ms' },
    { figure: `${part}.p50Ratio`, label: '… meanwhile ÷ before', atMost: MOST_LATENCY },
    { figure: `${part}.p99MsBefore`, label: `${label}: p99 before`, unit: 'ms' },
    { figure: `${part}.p99MsDuring`, label: '… meanwhile', unit: 'ms' },
  ];
}

function within(atMost: number): Pick<Target, 'unit' | 'atMost'> {
  return { unit: 'ms', atMost };
}
