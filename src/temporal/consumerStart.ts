import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Config } from '../config';
import { consumerTimingsOf } from '../consumer/timings';
import { RelayMismatchError } from '../errors';
import type { Database } from '../postgres/database';
import type { consumer } from '../workflows/consumer';
import type { JoinRequest } from '../workflows/consumerMessages';

const MEANING: Record<string, string> = {
  installation: 'the database (DATABASE_URL, OUTBOX_SCHEMA)',
  mode: 'NATS_MODE',
  stream: 'OUTBOX_STREAM',
};

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

/** Tells the consumer that a broker answers again. Best effort: it also looks on its own schedule. */
export async function wakeConsumer(client: Client, config: Config): Promise<void> {
  try {
    await client.workflow.getHandle(config.consumerWorkflowId).signal('wake');
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

async function compare(client: Client, config: Config, identity: Record<string, string>): Promise<void> {
  const memo = await openMemo(client, config.consumerWorkflowId);
  for (const [setting, mine] of Object.entries(identity)) {
    const theirs = memo?.[setting];
    if (typeof theirs === 'string' && theirs !== mine) {
      throw new RelayMismatchError(
        `This worker differs from the running consumer ${config.consumerWorkflowId} in ${MEANING[setting] ?? setting}: it has ${mine}, the consumer ${theirs}. ` +
          `Give it the consumer's settings, or stop the consumer first: temporal workflow terminate --workflow-id ${config.consumerWorkflowId}`,
      );
    }
  }
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

async function installationId(db: Database): Promise<string> {
  const { rows } = await db.query<{ id: string }>(`SELECT id::text AS id FROM :schema.outbox_installation`);
  const row = rows[0];
  if (!row)
    throw new Error(
      `outbox_installation of schema ${db.schema} is empty; restore its one row, which the migration made`,
    );
  return row.id;
}
