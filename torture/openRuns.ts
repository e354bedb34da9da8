import { connectClient } from '../src/temporal/client';
import type { World } from './world/world';

const LISTED = `WorkflowType = 'deliverEvent' AND ExecutionStatus = 'Running'`;
/** As many tell what is wrong. */
const MOST = 100;

/** Events whose delivery runs are open, asked of each run itself: the list is told of changes a moment later. */
export async function openRuns({ servers }: World): Promise<string[]> {
  const temporal = await connectClient({ env: { TEMPORAL_ADDRESS: servers.url('temporal') } });
  try {
    const open: string[] = [];
    for await (const { workflowId, runId } of temporal.client.workflow.list({ query: LISTED })) {
      const { status } = await temporal.client.workflow.getHandle(workflowId, runId).describe();
      if (status.name === 'RUNNING') open.push(workflowId.split('/').at(-1) ?? workflowId);
      if (open.length === MOST) break;
    }
    return open;
  } finally {
    await temporal.close();
  }
}
