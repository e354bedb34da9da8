import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { RelayMismatchError } from '../errors';
import type { Database } from '../postgres/database';

/** What every worker of a run must agree on, as its memo holds it. */
export type Identity = Readonly<Record<string, string>>;

const MEANING: Identity = {
  installation: 'the database (DATABASE_URL, OUTBOX_SCHEMA)',
  backend: 'EVENT_BUS_BACKEND',
  mode: 'NATS_MODE',
  stream: 'OUTBOX_STREAM',
};

/** @throws RelayMismatchError that names the setting in which this worker differs from the run */
export function requireSame(
  mine: Identity,
  memo: Record<string, unknown> | undefined,
  run: { readonly name: string; readonly workflowId: string },
): void {
  const { name, workflowId } = run;
  for (const [setting, value] of Object.entries(mine)) {
    const theirs = memo?.[setting];
    if (typeof theirs === 'string' && theirs !== value) {
      throw new RelayMismatchError(
        `This worker differs from the running ${name} ${workflowId} in ${MEANING[setting] ?? setting}: it has ${value}, the ${name} ${theirs}. ` +
          `Give it the ${name}'s settings, or stop the ${name} first: temporal workflow terminate --workflow-id ${workflowId}`,
      );
    }
  }
}

/** Tells a run that this worker's broker answers again. Best effort: it also looks on its own schedule. */
export async function wake(client: Client, workflowId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).signal('wake');
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

export async function installationId(db: Database): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `/* outbox: read installation */ SELECT id::text AS id FROM :schema.outbox_installation`,
  );
  const row = rows[0];
  if (!row)
    throw new Error(
      `outbox_installation of schema ${db.schema} is empty; restore its one row, which the migration made`,
    );
  return row.id;
}
