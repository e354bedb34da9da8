import { Client, Connection, type WorkflowHandle } from '@temporalio/client';

const RELAY =
  process.env.OUTBOX_SCHEMA && process.env.OUTBOX_SCHEMA !== 'public'
    ? `outbox-relay/${process.env.OUTBOX_SCHEMA}`
    : 'outbox-relay';
/** Activities that the relay began since a time: what the run cost on Temporal's side. */
export async function countActivities(address: string, since: Date): Promise<number> {
  const connection = await Connection.connect({ address });
  try {
    const client = new Client({ connection, namespace: process.env.TEMPORAL_NAMESPACE ?? 'default' });
    let count = 0;
    let runId: string | undefined;
    for (;;) {
      const history: History = await client.workflow.getHandle(RELAY, runId).fetchHistory();
      const events = history.events ?? [];
      count += events.filter(
        (event) => event.activityTaskScheduledEventAttributes && timeOf(event) >= since.getTime(),
      ).length;
      // The relay continues as new now and then: each run names the one that it continues.
      const [first] = events;
      const continued = first?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
      if (!first || !continued || timeOf(first) < since.getTime()) break;
      runId = continued;
    }
    return count;
  } finally {
    await connection.close();
  }
}

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
type HistoryEvent = NonNullable<History['events']>[number];

function timeOf({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + Number(eventTime?.nanos ?? 0) / 1e6;
}

/** The relay's page in Temporal's UI. */
export function relayPage(uiUrl: string): string {
  return `${uiUrl}/namespaces/${process.env.TEMPORAL_NAMESPACE ?? 'default'}/workflows/${encodeURIComponent(RELAY)}`;
}
