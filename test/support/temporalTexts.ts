import type { Client, WorkflowHandle } from '@temporalio/client';

export interface Run {
  readonly workflowId: string;
  readonly runId: string;
}

/**
 * All that Temporal keeps of a run and shows to whoever may read its namespace, as text: history, memo, search attributes,
 * summary and details. Payloads are bytes there, and are read as what they hold.
 */
export async function temporalTexts(client: Client, { workflowId, runId }: Run): Promise<Record<string, string>> {
  const handle = client.workflow.getHandle(workflowId, runId);
  const { raw } = await handle.describe();
  return {
    history: textOf(await handle.fetchHistory()),
    description: textOf(raw),
    'current details': await details(handle),
  };
}

/** All runs, open and closed, whose workflow id has this text in it. */
export async function runsNamed(client: Client, part: string): Promise<Run[]> {
  const runs: Run[] = [];
  for await (const { workflowId, runId } of client.workflow.list())
    if (workflowId.includes(part)) runs.push({ workflowId, runId });
  return runs;
}

/** All texts in a value of Temporal's API, with bytes as what they hold: its own JSON would show them in base64. */
export function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, inner]) => `${name}: ${textOf(inner)}`)
    .join('\n');
}

/** As the UI asks a run that is open; of one that has ended they stand in its history. */
async function details(handle: WorkflowHandle): Promise<string> {
  const told = await handle.query('__temporal_workflow_metadata').catch((error: unknown) => String(error));
  return textOf(told);
}
