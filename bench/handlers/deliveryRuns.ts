import type { Rig } from '../rig';

export interface DeliveryRuns {
  readonly started: number;
  /** By their own decision, and not failed. */
  readonly completed: number;
  readonly open: number;
  /** Events of the longest history among those that have ended. */
  readonly largestHistory: number;
  /** Of the five seconds with the most starts: in a single one, a stall of the server would count as a burst. */
  readonly mostStartsPerSecond: number;
}

const WINDOW_MS = 5_000;

/** The delivery runs that were started since a moment, as Temporal lists them; that list lags a little behind. */
export async function deliveryRuns({ temporal }: Rig, since: Date): Promise<DeliveryRuns> {
  const starts: number[] = [];
  let completed = 0;
  let open = 0;
  let largestHistory = 0;
  for await (const run of temporal.workflow.list({ query: `WorkflowType = 'deliverEvent'` })) {
    if (run.startTime < since) continue;
    starts.push(run.startTime.getTime());
    if (run.status.name === 'COMPLETED') completed++;
    if (run.status.name === 'RUNNING') open++;
    largestHistory = Math.max(largestHistory, run.historyLength);
  }
  starts.sort((a, b) => a - b);
  let from = 0;
  let most = 0;
  starts.forEach((at, index) => {
    while ((starts[from] ?? at) <= at - WINDOW_MS) from++;
    most = Math.max(most, index - from + 1);
  });
  return { started: starts.length, completed, open, largestHistory, mostStartsPerSecond: (most * 1_000) / WINDOW_MS };
}
