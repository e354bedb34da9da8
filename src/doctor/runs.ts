import { WorkflowNotFoundError, type Client, type WorkflowExecutionDescription } from '@temporalio/client';
import type { Config } from '../config';
import type { Database } from '../postgres/database';
import { deadlineIn } from '../temporal/deadline';
import { installationId } from '../temporal/identity';
import { fault, ok, usesNats, warning, type Check, type Found } from './finding';

const SETTINGS: Readonly<Record<string, string>> = {
  installation: 'DATABASE_URL or OUTBOX_SCHEMA',
  backend: 'EVENT_BUS_BACKEND',
  mode: 'NATS_MODE',
  stream: 'OUTBOX_STREAM',
};

/** A worker answers a query from its memory, at once. */
const ANSWER_MS = 5_000;

/**
 * Relay and consumer run, and were started for this installation. What a run was started with stands in its memo.
 */
export const runs: Check = {
  name: 'runs',
  look: async (patient) => {
    const { config, db } = patient;
    const { client } = await patient.temporal();
    const mine = await identityOf(config, db);
    const found = [
      await examined(
        client,
        judge('relay', config.relayWorkflowId, await describe(client, config.relayWorkflowId), mine),
        {
          workflowId: config.relayWorkflowId,
          name: 'relay',
          resume: 'outbox resume',
        },
      ),
    ];
    if (!usesNats(config)) return found;
    const consumer = await describe(client, config.consumerWorkflowId);
    // An installation whose workers have no handlers never has one.
    if (consumer || (await hasHandlers(db))) {
      const { backend: _, ...others } = mine;
      found.push(
        await examined(client, judge('consumer', config.consumerWorkflowId, consumer, others), {
          workflowId: config.consumerWorkflowId,
          name: 'consumer',
          resume: `temporal workflow signal --workflow-id ${config.consumerWorkflowId} --name resume`,
        }),
      );
    }
    return found;
  },
};

function judge(
  name: string,
  workflowId: string,
  run: WorkflowExecutionDescription | undefined,
  mine: Readonly<Record<string, string>>,
): Found {
  const start = `Start a worker, which starts it: outbox worker${name === 'consumer' ? ' --handlers <module>' : ''}`;
  if (!run) return fault(`There is no ${name} ${workflowId}, so nothing ${name === 'relay' ? 'is published' : 'of the stream is handled'}.`, start); // prettier-ignore
  // What it was started with binds nobody any more: the next worker starts another with its own settings.
  if (run.status.name !== 'RUNNING')
    return fault(`The ${name} ${workflowId} does not run: ${run.status.name.toLowerCase()}.`, start);
  for (const [setting, value] of Object.entries(mine)) {
    const theirs: unknown = run.memo?.[setting];
    if (typeof theirs === 'string' && theirs !== value) {
      return fault(
        `The ${name} ${workflowId} was started with another ${SETTINGS[setting]}: it has ${theirs}, these settings ${value}.`,
        `Set ${SETTINGS[setting]} as its workers have it. To change it for all: let everything run dry, stop the workers, and run: temporal workflow terminate --workflow-id ${workflowId}`,
      );
    }
  }
  const stuck = (run.raw.pendingWorkflowTask?.attempt ?? 1) > 3;
  if (stuck) {
    return warning(
      `The workers fail to carry the ${name} ${workflowId} on: they may be of a build that does not know its history.`,
      `Look at: temporal workflow show --workflow-id ${workflowId}, and at the workers' logs.`,
    );
  }
  return ok(`The ${name} ${workflowId} runs.`);
}

interface Run {
  readonly workflowId: string;
  readonly name: string;
  /** The command that ends a pause. */
  readonly resume: string;
}

/** What a run that is open says of itself: one may be paused, or have nobody left to carry it on. */
async function examined(client: Client, found: Found, { workflowId, name, resume }: Run): Promise<Found> {
  if (found.level !== 'ok') return found;
  try {
    const asking = () => client.workflow.getHandle(workflowId).query<{ state: string }, []>('status');
    const { state } = await client.withDeadline(deadlineIn(ANSWER_MS), asking);
    if (state === 'paused') return warning(`The ${name} ${workflowId} is paused.`, `If nobody needs that any more, run: ${resume}`);
    if (state === 'waiting for the broker')
      return warning(`The ${name} ${workflowId} waits for NATS.`, 'See the check of NATS, and: outbox status');
    return found;
  } catch (error) {
    const reason = (error as Error).message;
    return fault(
      `The ${name} ${workflowId} is open, and no worker answers for it (${reason}).`,
      'See whether a worker runs, and what its log says: outbox worker',
    );
  }
} // prettier-ignore

async function identityOf(config: Config, db: Database): Promise<Record<string, string>> {
  const { backend, nats } = config;
  return {
    installation: await installationId(db),
    backend,
    mode: backend === 'db' ? 'none' : nats.mode,
    stream: backend === 'db' ? 'none' : nats.stream,
  };
}

/** @returns undefined when there is none of this id */
export async function describe(client: Client, workflowId: string): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

const HANDLERS = `/* outbox: read whether handlers are recorded */ SELECT handler_events <> '{}' AS some FROM :schema.outbox_installation`;

async function hasHandlers(db: Database): Promise<boolean> {
  return (await db.query<{ some: boolean }>(HANDLERS)).rows[0]?.some ?? false;
}
