import type { Area, Figures } from './figures';
import { handlerTargets } from './handlers/targets';
import { telemetryTargets } from './telemetry/targets';

export interface Target {
  readonly area: Area;
  /** With dots where it stands in an object of its own. */
  readonly figure: string;
  readonly label: string;
  /** What it should reach; without it the figure is for information. */
  readonly atLeast?: number;
  readonly atMost?: number;
  /** The figure of the same area that it should be equal to. */
  readonly exactly?: string;
  readonly unit?: string;
}

/** What the report shows, in its order. Targets inform: a shared machine misses some of them on a bad day. */
export const TARGETS: readonly Target[] = [
  { area: 'drain', figure: 'ratio', label: 'drain ÷ bare loop, one publish per event', atLeast: 1 },
  { area: 'drain', figure: 'ratioSamePublish', label: 'drain ÷ bare loop, same publish function', atLeast: 0.85 },
  { area: 'drain', figure: 'eventsPerSecond', label: 'drain', unit: 'events/s', atLeast: 22_000 },
  { area: 'drain', figure: 'bareLoopEventsPerSecond', label: 'bare loop, one publish per event', unit: 'events/s' },
  {
    area: 'drain',
    figure: 'bareLoopSamePublishEventsPerSecond',
    label: 'bare loop, same publish function',
    unit: 'events/s',
  },
  { area: 'latency', figure: 'p50Ms', label: 'commit → subscriber at 100/s, p50', unit: 'ms', atMost: 1.5 },
  { area: 'latency', figure: 'p90Ms', label: 'commit → subscriber at 100/s, p90', unit: 'ms' },
  { area: 'latency', figure: 'p99Ms', label: 'commit → subscriber at 100/s, p99', unit: 'ms', atMost: 10 },
  { area: 'latency', figure: 'maxMs', label: 'commit → subscriber at 100/s, max', unit: 'ms' },
  { area: 'latency', figure: 'latestStartMs', label: 'the sender, at most behind its schedule by', unit: 'ms' },
  { area: 'latency', figure: 'continuedAsNew', label: 'continue-as-new meanwhile', atLeast: 1 },
  { area: 'cpu', figure: 'workerMsPer1000', label: 'CPU per 1,000 drained events', unit: 'ms', atMost: 35 },
  { area: 'cpu', figure: 'bareLoopMsPer1000', label: 'the same, bare loop, one publish per event', unit: 'ms' },
  { area: 'cpu', figure: 'bareLoopSamePublishMsPer1000', label: 'the same, bare loop, same publish', unit: 'ms' },
  { area: 'memory', figure: 'peakMb', label: 'peak memory of the worker', unit: 'MiB' },
  { area: 'memory', figure: 'bareLoopPeakMb', label: 'peak memory of the bare loop', unit: 'MiB' },
  { area: 'temporal', figure: 'activitiesPer1000', label: 'activities per 1,000 events, drain', atMost: 3 },
  {
    area: 'temporal',
    figure: 'activitiesPer1000At100PerSecond',
    label: 'activities per 1,000 events at 100/s',
    atMost: 60,
  },
  { area: 'temporal', figure: 'historyEventsPer1000', label: 'history events per 1,000 events, drain', atMost: 20 },
  { area: 'temporal', figure: 'historyEventsPer1000At100PerSecond', label: 'history events per 1,000 at 100/s' },
  { area: 'temporal', figure: 'actionsPer1000', label: 'billed actions per 1,000 events, drain' },
  { area: 'temporal', figure: 'actionsPerMinuteAt100PerSecond', label: 'billed actions a minute at 100/s' },
  { area: 'temporal', figure: 'actionsPerMinuteAt1PerSecond', label: 'billed actions a minute at 1/s' },
  { area: 'idle', figure: 'actionsPerMinute', label: 'billed actions an idle minute' },
  { area: 'idle', figure: 'heartbeatsPerMinute', label: '… of which heartbeats' },
  { area: 'idle', figure: 'activitiesPerMinute', label: 'activities an idle minute', atMost: 2 },
  { area: 'idle', figure: 'sqlPerMinute', label: 'SQL statements an idle minute', atMost: 30 },
  { area: 'recovery', figure: 'workerKilledMs', label: 'worker killed → flowing', unit: 'ms', atMost: 15_000 },
  { area: 'recovery', figure: 'brokerBackMs', label: 'broker back → flowing', unit: 'ms', atMost: 5_000 },
  { area: 'claim', figure: 'p95Ms', label: 'claim of 10 among 1.35 M rows, p95', unit: 'ms', atMost: 20 },
  { area: 'claim', figure: 'nothingDueP95Ms', label: 'claim with nothing due, p95', unit: 'ms', atMost: 20 },
  { area: 'claim', figure: 'rowsRead', label: 'rows read by that claim', atMost: 50 },
  { area: 'prune', figure: 'rows', label: 'expired ledger rows, two clean-ups at once, 100 events/s' },
  { area: 'prune', figure: 'seconds', label: 'removed within', unit: 's', atMost: 600 },
  { area: 'prune', figure: 'rowsPerSecond', label: '… that is', unit: 'rows/s' },
  { area: 'prune', figure: 'claimP95BeforeMs', label: 'a claim before it, p95', unit: 'ms' },
  { area: 'prune', figure: 'claimP50Ms', label: 'a claim meanwhile, p50', unit: 'ms' },
  { area: 'prune', figure: 'claimP95Ms', label: '… p95', unit: 'ms', atMost: 20 },
  { area: 'prune', figure: 'claimMaxMs', label: '… max', unit: 'ms' },
  {
    area: 'prune',
    figure: 'longestBatchMs',
    label: 'longest batch: its look and its removal',
    unit: 'ms',
    atMost: 2_000,
  },
  { area: 'prune', figure: 'latestStartMs', label: 'the sender, at most behind its schedule by', unit: 'ms' },
  ...handlerTargets('db'),
  ...handlerTargets('nats'),
  ...telemetryTargets(),
];

export function valueOf(figures: Figures, area: Area, figure: string): number | undefined {
  let value: unknown = figures[area];
  for (const name of figure.split('.')) value = (value as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'number' ? value : undefined;
}

/** What a figure should reach, as text and as a judgement; `met` is undefined where there is none to make. */
export function judge(figures: Figures, target: Target): { wanted: string; met: boolean | undefined } {
  const value = valueOf(figures, target.area, target.figure) ?? NaN;
  const { atLeast, atMost, exactly } = target;
  const met = (isMet: boolean) => (Number.isNaN(value) ? undefined : isMet);
  const equal = exactly === undefined ? undefined : valueOf(figures, target.area, exactly);
  if (equal !== undefined) return { wanted: shown(equal), met: met(value === equal) };
  if (atLeast !== undefined) return { wanted: `≥ ${shown(atLeast)}`, met: met(value >= atLeast) };
  if (atMost !== undefined) return { wanted: `≤ ${shown(atMost)}`, met: met(value <= atMost) };
  return { wanted: '', met: undefined };
}

/** A number for people. */
export function shown(value: number): string {
  return Number.isNaN(value) ? 'unknown' : value.toLocaleString('en-US', { maximumFractionDigits: 4 });
}
