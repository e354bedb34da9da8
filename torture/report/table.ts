import type { Figures } from './figures';
import { spreadOf, type Recovery } from './recovery';

/** For people. */
export function tableOf(figures: Figures): string {
  const { recovery, rules } = figures;
  const faults = Object.entries(figures.faults).map(([name, times]) => `${name} ${times}`);
  const rows: [string, string][] = [
    ['backend, seed', `${figures.backend}, ${figures.seed}`],
    [
      'storm',
      `${figures.seconds} s, then ${seconds(figures.restMs)} until ${figures.rested ? 'all was handled' : 'patience was over'}`,
    ],
    ['events committed', `${figures.events}, and ${figures.rolledBack} rolled back`],
    ['handlings done', `${figures.handlings}`],
    ['dead letters', `${figures.deadLetters}`],
    ['faults', faults.join(', ')],
    ['faults that failed', failed(figures.failed)],
    ['workers that ended by themselves', `${figures.workersEndedThemselves}`],
    ['duplicates in the stream', figures.backend === 'db' ? 'no stream' : `${figures.duplicatesInTheStream}`],
    ['repeated external effects', `${figures.repeatedExternalEffects}`],
    ['longest stall', seconds(figures.longestStallMs)],
    [
      'waits judged',
      `${figures.waits.judged} of ${figures.waits.of}, ${figures.waits.whole} of them by the whole backoff`,
    ],
    ['rules violated', violated(rules)],
    ['verdict', figures.verdict],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`);
  return recovery.length === 0 ? lines.join('\n') : [...lines, '', recoveryTableOf(recovery)].join('\n');
}

export function recoveryTableOf(recovery: readonly Recovery[]): string {
  const head = ['recovery after', 'times', 'flow: median', 'worst', 'caught up: median', 'worst'];
  const body = recovery.map(({ fault, times, flowMs, caughtUpMs }) => [
    ...[fault, `${times}`, ...both(flowMs), ...both(caughtUpMs)],
  ]);
  return columns([head, ...body]).join('\n');
}

function violated(rules: Figures['rules']): string {
  const found = Object.entries(rules).filter(([, count]) => count > 0);
  const all = Object.keys(rules).length;
  return found.length === 0 ? `none of ${all}` : found.map(([name, count]) => `${name} ${count}`).join(', ');
}

function failed(failures: Figures['failed']): string {
  const count = failures.reduce((sum, { times }) => sum + times, 0);
  if (count === 0) return 'none';
  return `${count}: ${failures.map(({ fault, why, times }) => `${fault} ${times} (${why})`).join('; ')}`;
}

function both(values: readonly number[]): string[] {
  const { median, worst } = spreadOf(values);
  return [median, worst].map((ms) => (ms === null ? '-' : seconds(ms)));
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((text, column) => (column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0)))
      .join('  '),
  );
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
