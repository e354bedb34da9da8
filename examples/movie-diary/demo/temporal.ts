import { Client, Connection, isGrpcServiceError, type WorkflowHandle } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';

const SCHEMA = process.env.OUTBOX_SCHEMA ?? 'public';
const NAMESPACE = process.env.TEMPORAL_NAMESPACE ?? 'default';
const RELAY = idOf('outbox-relay');
const CONSUMER = idOf('outbox-consumer');
const NOT_FOUND = 5;
/** Visibility lags behind by moments, and a run ends a moment after its handler. */
const RUNS_END_WITHIN_MS = 5_000;

export interface Cost {
  /** Activities that relay and consumer began. */
  readonly activities: number;
  /** Delivery runs: one for each event that failed, and one more when it was handed back. */
  readonly runs: number;
  /** Those that ended failed: the dead letters. */
  readonly failedRuns: number;
  /** Attempts in delivery runs: each is an activity. */
  readonly retries: number;
}

/** What Temporal did for these events since a time. */
export async function countCost(address: string, since: Date, eventIds: ReadonlySet<string>): Promise<Cost> {
  const connection = await Connection.connect({ address });
  try {
    const { workflow } = new Client({ connection, namespace: NAMESPACE });
    const activitiesOf = async (id: string, runId?: string): Promise<number> => {
      const history = await fetchHistory(workflow.getHandle(id, runId));
      const [first, ...events] = history;
      if (!first) return 0;
      const began = events.filter((event) => event.activityTaskScheduledEventAttributes && timeOf(event) >= +since);
      // A workflow continues as new now and then: each run names the one that it continues.
      const before = first.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
      return began.length + (before && timeOf(first) >= +since ? await activitiesOf(id, before) : 0);
    };
    const runs = await endedRuns(workflow, since, eventIds);
    let retries = 0;
    for (const { workflowId, runId } of runs) retries += await activitiesOf(workflowId, runId);
    return {
      activities: (await activitiesOf(RELAY)) + (await activitiesOf(CONSUMER)),
      runs: runs.length,
      failedRuns: runs.filter(({ status }) => status.name === 'FAILED').length,
      retries,
    };
  } finally {
    await connection.close();
  }
}

async function endedRuns(workflow: Client['workflow'], since: Date, eventIds: ReadonlySet<string>) {
  const query = `WorkflowType = 'deliverEvent' AND StartTime >= '${since.toISOString()}'`;
  const end = performance.now() + RUNS_END_WITHIN_MS;
  for (;;) {
    const runs = [];
    for await (const run of workflow.list({ query })) {
      if (eventIds.has(run.workflowId.slice(run.workflowId.lastIndexOf('/') + 1))) runs.push(run);
    }
    if (performance.now() > end || runs.every(({ status }) => status.name !== 'RUNNING')) return runs;
    await sleep(200);
  }
}

type HistoryEvent = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];

async function fetchHistory(handle: WorkflowHandle): Promise<HistoryEvent[]> {
  try {
    return (await handle.fetchHistory()).events ?? [];
  } catch (error) {
    // No consumer in the backend `db`; and not WorkflowNotFoundError here, as other calls of the handle have it.
    if (isGrpcServiceError(error) && Number(error.code) === NOT_FOUND) return [];
    throw error;
  }
}

function timeOf({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + Number(eventTime?.nanos ?? 0) / 1e6;
}

function idOf(name: string): string {
  return SCHEMA === 'public' ? name : `${name}/${SCHEMA}`;
}

/** The relay's page in Temporal's UI. */
export function relayPage(uiUrl: string): string {
  return page(uiUrl, `/${encodeURIComponent(RELAY)}`);
}

/** The page of an event's delivery run, there once a handler of it has failed. */
export function deliveryRunPage(uiUrl: string, eventId: string): string {
  return page(uiUrl, `/${encodeURIComponent(`${idOf('deliver')}/${eventId}`)}`);
}

/** The list of all delivery runs. */
export function deliveryRunsPage(uiUrl: string): string {
  return page(uiUrl, `?query=${encodeURIComponent('WorkflowType="deliverEvent"')}`);
}

function page(uiUrl: string, rest: string): string {
  return `${uiUrl}/namespaces/${NAMESPACE}/workflows${rest}`;
}
