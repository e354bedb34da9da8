import type { Kind } from '../retention/policy';

export interface KindReport {
  readonly kind: Kind;
  /** The age at which rows go, in milliseconds; null: never. */
  readonly ms: number | null;
  state: 'waits' | 'under way' | 'done' | 'failed' | 'left for the next run' | 'kept for ever';
  removed: number;
  tookMs: number;
  error: string | null;
}

const WHAT: Readonly<Record<Kind, string>> = {
  ledger: 'handlings that are done (`processed_events`)',
  done: 'events that are done (`event_queue`)',
  skipped: 'skipped deliveries (`deliveries`)',
  dead: 'dead letters (`deliveries`, `event_queue`)',
};

const HOUR_MS = 3_600_000;

/** A run's page in the Temporal UI, in Markdown: what went, how long it took, what is in the way. */
export function maintenanceDetails(reports: readonly KindReport[]): string {
  const failed = reports.filter(({ error }) => error !== null);
  return [
    '| what | older than | state | rows removed | took |',
    '| --- | --- | --- | --- | --- |',
    ...reports.map(
      ({ kind, ms, state, removed, tookMs }) =>
        `| ${WHAT[kind]} | ${ageOf(ms)} | **${state}** | ${removed} | ${(tookMs / 1_000).toFixed(1)} s |`,
    ),
    '',
    ...(failed.length === 0
      ? ['No error.']
      : failed.map(({ kind, error }) => `**Last error** (${kind}): ${(error ?? '').replace(/[|\n\r`]/g, ' ')}`)),
    '',
    'What waits for a handler or is a dead letter never goes by these ages alone. By hand: `outbox prune`.',
  ].join('\n');
}

function ageOf(ms: number | null): string {
  if (ms === null) return 'kept for ever';
  const [size, unit] = ms >= 48 * HOUR_MS ? [24 * HOUR_MS, 'days'] : ms >= HOUR_MS ? [HOUR_MS, 'h'] : [1_000, 's'];
  return `${Number((ms / size).toFixed(1))} ${unit}`;
}
