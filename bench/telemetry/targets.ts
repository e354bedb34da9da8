import type { Target } from '../targets';

/** What issue 6 asks of the worker itself. */
export function telemetryTargets(): Target[] {
  const rows: Omit<Target, 'area'>[] = [
    { figure: 'costRatio', label: 'CPU per 1,000 events, with metrics and tracing hooks ÷ without', atMost: 1.05 },
    { figure: 'withMsPer1000', label: '… with', unit: 'ms' },
    { figure: 'withoutMsPer1000', label: '… without', unit: 'ms' },
    { figure: 'firstEventMs', label: 'worker start → first event, median', unit: 'ms', atMost: 3_000 },
    { figure: 'firstEventWorstMs', label: '… worst', unit: 'ms' },
    { figure: 'bareIdleMb', label: "a bare worker of Temporal's SDK, idle", unit: 'MiB' },
    { figure: 'idleMb', label: 'the worker, idle', unit: 'MiB' },
    { figure: 'idleAboveBareMb', label: '… above the bare one', unit: 'MiB', atMost: 60 },
    { figure: 'drainingPeakMb', label: 'the worker, draining events of 1 KB, at most', unit: 'MiB', atMost: 350 },
    { figure: 'drainingGrowthMb', label: '… second half of the drain above the first', unit: 'MiB' },
    { figure: 'memoryEvents', label: '… events' },
  ];
  return rows.map((row) => ({ ...row, area: 'telemetry' as const }));
}
