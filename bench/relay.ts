import type { Client } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PauseResult, RelayStatus } from '../src/workflows/messages';
import { historySince, type HistoryCount } from './history';

/** The server adds to its counters once a second. */
const METRICS_SETTLE_MS = 1_500;

/** The relay workflow as an operator reaches it, and what it costs. */
export class Relay {
  constructor(
    private readonly client: Client,
    private readonly workflowId: string,
    private readonly metricsPort: number,
  ) {}

  private get handle() {
    return this.client.workflow.getHandle(this.workflowId);
  }

  /** Resolves when no claim is open. */
  async pause(): Promise<void> {
    await this.handle.executeUpdate<PauseResult, []>('pause');
  }

  async resume(): Promise<void> {
    await this.handle.executeUpdate<PauseResult, []>('resume');
  }

  /** Costs the worker a workflow task: not for use while something is timed. */
  status(): Promise<RelayStatus> {
    return this.handle.query<RelayStatus>('status');
  }

  /** The pid of the worker that runs the open claim, by the identity under which it took the task. */
  async claimingPid(): Promise<number | undefined> {
    const { raw } = await this.handle.describe();
    const claim = raw.pendingActivities?.find(
      (activity) => activity.activityType?.name === 'claim' && Boolean(activity.lastWorkerIdentity),
    );
    return claim ? Number.parseInt(claim.lastWorkerIdentity ?? '', 10) : undefined;
  }

  historySince(since: Date): Promise<HistoryCount> {
    return historySince(this.client, this.workflowId, since);
  }

  /**
   * Actions that managed Temporal would have billed so far, by the server's own counter `action`, which its makers give
   * for that estimate: workflow starts (a continue-as-new is one), scheduled activities and their retries, recorded
   * heartbeats, timers, signals, updates, queries.
   */
  async actions(): Promise<{ all: number; heartbeats: number }> {
    await sleep(METRICS_SETTLE_MS);
    const response = await fetch(`http://127.0.0.1:${this.metricsPort}/metrics`);
    const counted = (await response.text())
      .split('\n')
      .filter((line) => line.startsWith('action{') && line.includes('namespace="default"'))
      .map((line) => ({ line, count: Number(line.slice(line.lastIndexOf(' '))) }));
    const total = (lines: typeof counted) => lines.reduce((sum, { count }) => sum + count, 0);
    return { all: total(counted), heartbeats: total(counted.filter(({ line }) => line.includes('Heartbeat'))) };
  }
}
