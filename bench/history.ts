import type { Client } from '@temporalio/client';

type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;
type HistoryEvent = NonNullable<History['events']>[number];

export interface HistoryCount {
  readonly events: number;
  readonly activities: number;
  readonly continuedAsNew: number;
}

/** Counts what a workflow has added to its history since a moment, across all its runs. */
export async function historySince(client: Client, workflowId: string, since: Date): Promise<HistoryCount> {
  let events = 0;
  let activities = 0;
  let continuedAsNew = 0;
  let runId: string | undefined = (await client.workflow.getHandle(workflowId).describe()).runId;
  while (runId) {
    const history: HistoryEvent[] = (await client.workflow.getHandle(workflowId, runId).fetchHistory()).events ?? [];
    const first = history[0];
    for (const event of history) {
      if (milliseconds(event.eventTime) < since.getTime()) continue;
      events++;
      if (event.activityTaskScheduledEventAttributes) activities++;
      if (event.workflowExecutionContinuedAsNewEventAttributes) continuedAsNew++;
    }
    const isOlderWanted: boolean = milliseconds(first?.eventTime) >= since.getTime();
    runId = (isOlderWanted && first?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId) || undefined;
  }
  return { events, activities, continuedAsNew };
}

function milliseconds(time: HistoryEvent['eventTime']): number {
  return time ? Number(time.seconds ?? 0) * 1_000 + (time.nanos ?? 0) / 1e6 : 0;
}
