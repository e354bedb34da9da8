import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  log,
  proxyActivities,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { MaintenanceActivities, PlannedKind, PruneStep } from '../activities/maintenance';
import { maintenanceDetails, type KindReport } from './maintenanceDetails';

export interface MaintenanceInput {
  readonly heartbeatTimeoutMs: number;
}

/** Parts of one run, so that its history stays short: four hours of removing. The next run goes on. */
const MOST_PARTS = 500;
/** A part ends by itself after half a minute; the rest is for an archive that is slow. */
const PART_TIMEOUT_MS = 600_000;

/**
 * Removes what is past its age, kind by kind; one that fails does not stop the others. Ends failed when one did: the
 * schedule's page shows it, and its next run tries again.
 *
 * @returns rows removed, by kind
 */
export async function maintenance(input: MaintenanceInput): Promise<Record<string, number>> {
  const stepOf = (summary: string) =>
    proxyActivities<MaintenanceActivities>({
      startToCloseTimeout: PART_TIMEOUT_MS,
      heartbeatTimeout: input.heartbeatTimeoutMs,
      retry: { initialInterval: 1_000, backoffCoefficient: 4, maximumInterval: 30_000, maximumAttempts: 4 },
      summary,
    });
  const plan = await stepOf('reads how long rows are kept').planMaintenance();
  const reports = plan.map(beginning);
  const show = () => setCurrentDetails(maintenanceDetails(reports));
  show();
  let parts = 0;
  for (const report of reports) {
    if (report.state === 'kept for ever') continue;
    const { prune } = stepOf(`removes what is past its age: ${report.kind}`);
    report.state = 'under way';
    let from: PruneStep['rest'] = null;
    try {
      do {
        show();
        const { removed, rest, tookMs }: PruneStep = await prune({ kind: report.kind, from });
        report.removed += removed;
        report.tookMs += tookMs;
        from = rest;
      } while (from !== null && ++parts < MOST_PARTS);
      report.state = from === null ? 'done' : 'left for the next run';
    } catch (error) {
      if (isCancellation(error)) throw error;
      report.state = 'failed';
      report.error = reasonOf(error);
      log.warn(`The clean-up of ${report.kind} failed; the next run tries again: ${report.error}`);
    }
    show();
  }
  const failed = reports.filter(({ error }) => error !== null);
  if (failed.length > 0) {
    const reasons = failed.map(({ kind, error }) => `${kind}: ${error ?? ''}`).join('; ');
    throw ApplicationFailure.nonRetryable(`not everything could be removed: ${reasons}`, 'MaintenanceFailed');
  }
  return Object.fromEntries(reports.map(({ kind, removed }) => [kind, removed]));
}

function beginning({ kind, ms, keptForEver }: PlannedKind): KindReport {
  return { kind, ms, state: keptForEver ? 'kept for ever' : 'waits', removed: 0, tookMs: 0, error: null };
}

/** The activity's own reason; around it stands only that an activity failed. */
function reasonOf(error: unknown): string {
  const reason = error instanceof ActivityFailure ? (error.cause ?? error) : error;
  return (reason instanceof Error ? reason.message : 'unknown').slice(0, 500);
}
