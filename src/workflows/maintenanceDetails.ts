import { duration } from '../duration';
import type { Kind } from '../retention/policy';
import { facts, plain } from './markdown';

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
  ledger: 'handlings that are done',
  done: 'events that are done',
  skipped: 'skipped deliveries',
  dead: 'dead letters',
};

/** A run's page in the Temporal UI, in Markdown: what went, how long it took, what is in the way. */
export function maintenanceDetails(reports: readonly KindReport[]): string {
  const failed = reports.filter(({ error }) => error !== null);
  return [
    facts('Clean-up', Object.fromEntries(reports.map((report) => [WHAT[report.kind], told(report)]))),
    ...(failed.length === 0
      ? ['No error.']
      : failed.map(({ kind, error }) => `**Last error** (${WHAT[kind]}): ${plain(error ?? '')}`)),
    'What waits for a handler or is a dead letter never goes by these ages alone. By hand: `outbox prune`.',
  ].join('\n\n');
}

function told({ ms, state, removed, tookMs }: KindReport): string {
  if (ms === null) return 'kept for ever';
  return `**${state}**: ${removed} rows, older than ${duration(ms)}, in ${duration(tookMs)}`;
}
