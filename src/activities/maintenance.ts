import { activityInfo } from '@temporalio/activity';
import type { Config } from '../config';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import type { Archive } from '../retention/archive';
import { isKeptForEver, KINDS, policyOf, type Kind } from '../retention/policy';
import { prune, type PrunePlace } from '../retention/prune';
import type { Metrics } from '../telemetry/metrics';
import { heartbeating, mappingErrors } from './heartbeating';

export interface MaintenanceDeps {
  readonly db: Database;
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  readonly archive: Archive | undefined;
  /** Aborts when the worker is told to stop: what is left goes to another worker. */
  readonly stopping: AbortSignal;
}

/** A kind of rows, with the age at which they go in milliseconds; null: kept for ever. */
export interface PlannedKind {
  readonly kind: Kind;
  readonly ms: number | null;
  readonly keptForEver: boolean;
}

export interface PruneRequest {
  readonly kind: Kind;
  readonly from: PrunePlace | null;
}

export interface PruneStep {
  readonly removed: number;
  readonly rest: PrunePlace | null;
  readonly tookMs: number;
}

/** One activity's part: long enough to cost few actions, short enough that the run's page shows how it goes. */
const PART_MS = 30_000;

export type MaintenanceActivities = ReturnType<typeof createMaintenanceActivities>;

/** The clean-up's effects; what they do stands in `src/retention`. */
export function createMaintenanceActivities({ db, config, logger, metrics, archive, stopping }: MaintenanceDeps) {
  const policy = policyOf(config);
  return {
    /** What a run has to do, in its order: decided here, so that a run that is under way never depends on its build. */
    planMaintenance: mappingErrors((): Promise<PlannedKind[]> =>
      Promise.resolve(KINDS.map((kind) => ({ kind, ms: policy[kind].ms, keptForEver: isKeptForEver(policy[kind]) }))),
    ),
    prune: heartbeating(async ({ kind, from }: PruneRequest): Promise<PruneStep> => {
      const signal = AbortSignal.any([stopping, AbortSignal.timeout(PART_MS)]);
      const begun = performance.now();
      let soFar = 0;
      const onProgress = (rows: number) => (soFar = rows);
      try {
        const options = { archive, from: from ?? undefined, signal, onProgress };
        const { removed, rest } = await prune(db, kind, policy[kind], options);
        metrics?.pruned(kind, 'done', removed);
        const tookMs = Math.round(performance.now() - begun);
        if (removed > 0) logger.info({ kind, rows: removed, ms: tookMs }, 'Removed rows past their retention');
        return { removed, rest, tookMs };
      } catch (error) {
        metrics?.pruned(kind, 'failed', soFar);
        const { attempt } = activityInfo();
        logger.warn(
          { kind, attempt },
          `Rows past their retention could not be removed, and it is tried again: ${(error as Error).message}`,
        );
        throw error;
      }
    }),
  };
}
