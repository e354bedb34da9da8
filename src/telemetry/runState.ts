import { QueryNotRegisteredError, QueryRejectedError, type Client, WorkflowNotFoundError } from '@temporalio/client';

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
