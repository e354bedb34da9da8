import type { Client } from '@temporalio/client';
import type { Config } from '../config';
import type { Database } from '../postgres/database';
import { timingsOf } from '../relay/timings';
import type { relay } from '../workflows/relay';
import { installationId, requireSame } from './identity';

/**
 * Starts the relay unless it runs. Any number of workers may call it at the same moment: one execution is open.
 *
 * @param handlingMs the longest time-out of this worker's handlers
 * @throws RelayMismatchError that names the setting in which this worker differs from the running relay
 */
export async function startRelay(client: Client, config: Config, db: Database, handlingMs = 0): Promise<void> {
  const identity = {
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
  requireSame(identity, memo, { name: 'relay', workflowId: config.relayWorkflowId });
}

function destination({ backend, nats }: Config): string {
  if (backend === 'db') return 'the handlers';
  return nats.mode === 'core' ? 'core NATS' : `stream ${nats.stream}`;
}
