import { QueryNotRegisteredError, QueryRejectedError, type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Config } from '../config';
import { Fresh } from './fresh';

/** The state of relay or consumer as its query `status` tells it; `absent` when none is open. */
export async function readRunState(client: Client, workflowId: string): Promise<string> {
  try {
    const { state } = await client.workflow.getHandle(workflowId).query<{ state: string }>('status');
    return state;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof QueryRejectedError) return 'absent';
    // A run of another build, which has no such query.
    if (error instanceof QueryNotRegisteredError) return 'unknown';
    throw error;
  }
}

/**
 * The relay's state without asking it, as long as it claims: a query is an action on managed Temporal. Each claim moves
 * the fence in the database, wherever it runs, and the relay is asked only once the fence has stood still for longer than an
 * idle claim takes. So a pause shows that much later in workers that had no part in it.
 */
export class RelayState {
  private readonly asked: Fresh<string>;
  private readonly quietMs: number;
  private epoch: string | undefined;
  private movedAt = -Infinity;

  constructor(ask: () => Promise<string>, { longPollMs }: Config['relay'], timeoutMs: number) {
    this.asked = new Fresh(ask, longPollMs / 2, timeoutMs);
    this.quietMs = 1.5 * longPollMs;
  }

  /**
   * @param isClaiming a claim is open in this worker
   * @param epoch of the fence; undefined when it cannot be read
   * @returns undefined when Temporal does not say
   */
  get(isClaiming: boolean, epoch: string | undefined): Promise<string | undefined> {
    const now = performance.now();
    if (epoch !== undefined && epoch !== this.epoch) {
      // The first look tells where it stands, and not that it moves.
      if (this.epoch !== undefined) this.movedAt = now;
      this.epoch = epoch;
    }
    if (isClaiming || now - this.movedAt < this.quietMs) return Promise.resolve('running');
    return this.asked.get();
  }
}
