import type { Config } from '../config';

/** What is kept for a while and removed then, in the order in which a run removes it. */
export const KINDS = ['ledger', 'done', 'skipped', 'dead'] as const;
export type Kind = (typeof KINDS)[number];

/** How long rows are kept after their end, in milliseconds by the database's clock; null: for ever. */
export interface Keep {
  readonly ms: number | null;
  /** Other ages for event types. */
  readonly byType: Readonly<Record<string, number | null>>;
}

export type RetentionPolicy = Readonly<Record<Kind, Keep>>;

/** The policy of the settings. */
export function policyOf({ handling, retention }: Pick<Config, 'handling' | 'retention'>): RetentionPolicy {
  return {
    // It does not know event types, and need not: it must outlive the last redelivery of any.
    ledger: { ms: handling.retentionMs, byType: {} },
    done: { ms: retention.doneMs, byType: retention.byType },
    skipped: { ms: retention.skippedMs, byType: {} },
    dead: { ms: retention.deadMs, byType: {} },
  };
}

/** Whether anything of this kind is ever removed. */
export function isKeptForEver({ ms, byType }: Keep): boolean {
  return ms === null && Object.values(byType).every((age) => age === null);
}
