import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type Client,
  type ScheduleDescription,
} from '@temporalio/client';
import type { Config } from '../config';
import type { Logger } from '../logger';
import type { maintenance, MaintenanceInput } from '../workflows/maintenance';

/** Runs of several installations should not begin at the same moment. */
const JITTER_PART = 0.1;
/** What was missed while Temporal was away is one run's work: that long after its time it still begins at once. */
const CATCH_UP_MS = 600_000;

/** A server that refuses schedules, or refuses this worker: everything else works. */
export async function scheduleMaintenance(client: Client, config: Config, logger: Logger): Promise<void> {
  try {
    await ensureMaintenanceSchedule(client, config);
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    logger.warn(
      `The schedule ${config.maintenanceId} could not be made or looked at (${reason}): unless another worker has made it, nothing removes old rows but \`outbox prune\``,
    );
  }
}

/**
 * Sees to it that the schedule of the clean-up is there and as this worker's settings want it. Any number of workers may
 * do so at once. A schedule that an operator has paused stays paused; another time-table than the setting's does not.
 *
 * @throws what the server says; one that knows no schedules refuses
 */
async function ensureMaintenanceSchedule(client: Client, config: Config): Promise<void> {
  const { maintenanceId, taskQueue, schema, retention } = config;
  const input: MaintenanceInput = { heartbeatTimeoutMs: config.relay.heartbeatTimeoutMs };
  const spec = {
    intervals: [{ every: retention.everyMs }],
    jitter: Math.round(retention.everyMs * JITTER_PART),
  };
  const policies = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: CATCH_UP_MS };
  const action = {
    type: 'startWorkflow' as const,
    workflowType: 'maintenance',
    workflowId: maintenanceId,
    taskQueue,
    args: [input] as Parameters<typeof maintenance>,
    staticSummary: `removes what is past its age from schema ${schema}`,
    staticDetails:
      'Started by the schedule of the same name. A run that failed is tried again by the next one; `outbox prune` does the same by hand.',
  };
  try {
    await client.schedule.create({
      scheduleId: maintenanceId,
      ...{ spec, policies, action },
      // After a long downtime there is most to remove, and the next hour may be far.
      state: { triggerImmediately: true },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const handle = client.schedule.getHandle(maintenanceId);
    if (isAsWanted(await handle.describe(), { everyMs: retention.everyMs, taskQueue, input })) return;
    await handle.update(({ state }) => ({ spec, policies, action, state }));
  }
}

function isAsWanted(
  { spec, action, policies }: ScheduleDescription,
  wanted: { everyMs: number; taskQueue: string; input: MaintenanceInput },
): boolean {
  const { intervals = [], calendars = [] } = spec;
  return (
    calendars.length === 0 &&
    intervals.length === 1 &&
    intervals[0]?.every === wanted.everyMs &&
    policies.overlap === ScheduleOverlapPolicy.SKIP &&
    action.taskQueue === wanted.taskQueue &&
    JSON.stringify(action.args) === JSON.stringify([wanted.input])
  );
}
