import type { Client } from '@temporalio/client';

/** When the clean-up ran, and runs next. Times are ISO 8601, of Temporal's clock. */
export interface MaintenanceRuns {
  /** The latest that has begun; null: none, as far as Temporal remembers. */
  readonly last: {
    readonly at: string;
    /** As Temporal names it: `running`, `completed`, `failed`, …; `gone` once its namespace has forgotten it. */
    readonly status: string;
  } | null;
  /** Null while it is paused. */
  readonly nextAt: string | null;
  readonly paused: boolean;
}

/** Two requests, neither of which is an action. @throws ScheduleNotFoundError; what the server says */
export async function readMaintenanceRuns(client: Client, scheduleId: string): Promise<MaintenanceRuns> {
  const { info, state } = await client.schedule.getHandle(scheduleId).describe();
  const latest = info.recentActions.at(-1);
  return {
    last: latest
      ? { at: latest.takenAt.toISOString(), status: await statusOf(client, latest.action.workflow.workflowId) }
      : null,
    nextAt: state.paused ? null : (info.nextActionTimes[0]?.toISOString() ?? null),
    paused: state.paused,
  };
}

async function statusOf(client: Client, workflowId: string): Promise<string> {
  try {
    return (await client.workflow.getHandle(workflowId).describe()).status.name.toLowerCase();
  } catch (error) {
    if ((error as Error).name === 'WorkflowNotFoundError') return 'gone';
    throw error;
  }
}
