import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Config } from '../config';
import { RelayMismatchError } from '../errors';
import type { Database } from '../postgres/database';
import { timingsOf } from '../relay/timings';
import type { relay } from '../workflows/relay';

/** What every worker of a relay must agree on: a worker that differs would publish elsewhere, or to nobody. */
interface RelayIdentity {
  readonly installation: string;
  readonly backend: string;
  readonly mode: string;
  readonly stream: string;
}

const MEANING: Record<keyof RelayIdentity, string> = {
  installation: 'the database (DATABASE_URL, OUTBOX_SCHEMA)',
  backend: 'EVENT_BUS_BACKEND',
  mode: 'NATS_MODE',
  stream: 'OUTBOX_STREAM',
};

/**
 * Starts the relay unless it runs. Any number of workers may call it at the same moment: one execution is open.
 *
 * @param handlingMs the longest time-out of this worker's handlers
 * @throws RelayMismatchError that names the setting in which this worker differs from the running relay
 */
export async function startRelay(client: Client, config: Config, db: Database, handlingMs = 0): Promise<void> {
  const identity: RelayIdentity = {
    installation: await installationId(db),
    backend: config.backend,
    // What says nothing about a backend must not be compared for it.
    mode: config.backend === 'db' ? 'none' : config.nats.mode,
    stream: config.backend === 'db' ? 'none' : config.nats.stream,
  };
  const handle = await client.workflow.start<typeof relay>('relay', {
    workflowId: config.relayWorkflowId,
    taskQueue: config.taskQueue,
    args: [{ timings: timingsOf(config, handlingMs) }],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    memo: { ...identity },
    staticSummary: `moves events of schema ${config.schema} to ${destination(config)}`,
    staticDetails:
      'Loops over claim, publish and mark for ever. Pause and resume it with signals; terminate it only to move it.',
  });
  const { memo } = await handle.describe();
  for (const [setting, mine] of Object.entries(identity) as [keyof RelayIdentity, string][]) {
    const theirs = memo?.[setting];
    if (typeof theirs === 'string' && theirs !== mine) {
      throw new RelayMismatchError(
        `This worker differs from the running relay ${config.relayWorkflowId} in ${MEANING[setting]}: it has ${mine}, the relay ${theirs}. ` +
          `Give it the relay's settings, or stop the relay first: temporal workflow terminate --workflow-id ${config.relayWorkflowId}`,
      );
    }
  }
}

function destination({ backend, nats }: Config): string {
  if (backend === 'db') return 'the handlers';
  return nats.mode === 'core' ? 'core NATS' : `stream ${nats.stream}`;
}

/** Tells the relay that this worker's broker answers again. Best effort: the relay also looks on its own schedule. */
export async function wakeRelay(client: Client, config: Config): Promise<void> {
  try {
    await client.workflow.getHandle(config.relayWorkflowId).signal('wake');
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
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
