import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Config } from '../config';
import { consumerTimingsOf } from '../consumer/timings';
import type { Database } from '../postgres/database';
import type { consumer } from '../workflows/consumer';
import type { JoinRequest } from '../workflows/consumerMessages';
import { installationId, requireSame, type Identity } from './identity';

/**
 * Tells the consumer that this worker can receive, and starts it unless it runs. Asking again is harmless.
 *
 * @throws RelayMismatchError that names the setting in which this worker differs from the running consumer
 */
export async function joinConsumer(client: Client, config: Config, db: Database, queue: string): Promise<void> {
  const identity = { installation: await installationId(db), mode: config.nats.mode, stream: config.nats.stream };
  // Before, so that a worker that differs never joins; and after, for those that start at the same moment.
  await compare(client, config, identity);
  const timings = consumerTimingsOf(config);
  await client.workflow.signalWithStart<typeof consumer, [JoinRequest]>('consumer', {
    workflowId: config.consumerWorkflowId,
    taskQueue: config.taskQueue,
    args: [{ timings }],
    signal: 'join',
    signalArgs: [{ queue, timings }],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    memo: identity,
    staticSummary: `hands events from ${config.nats.mode === 'core' ? 'core NATS' : `stream ${config.nats.stream}`} to the handlers of schema ${config.schema}`,
    staticDetails: 'Keeps one receive open on each worker. Pause and resume it with signals.',
  });
  await compare(client, config, identity);
}

async function compare(client: Client, config: Config, identity: Identity): Promise<void> {
  const { consumerWorkflowId: workflowId } = config;
  requireSame(identity, await openMemo(client, workflowId), { name: 'consumer', workflowId });
}

/** What the open consumer was started with; one that has ended binds nobody. */
async function openMemo(client: Client, workflowId: string): Promise<Record<string, unknown> | undefined> {
  try {
    const { memo, status } = await client.workflow.getHandle(workflowId).describe();
    return status.name === 'RUNNING' ? memo : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
