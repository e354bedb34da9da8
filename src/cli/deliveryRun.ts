import type { Config } from '../config';
import { deliveryWorkflowId } from '../deliveries/deliveryId';
import { deadlineIn } from '../temporal/deadline';
import type { DeliveryEvent } from '../temporal/deliveryRuns';
import type { WaitingDelivery } from '../workflows/deliveryMessages';
import { CommandFailure, sentenceOf } from './failure';

/** A person waits. */
const CONNECT_TIMEOUT_MS = 3_000;
const ANSWER_TIMEOUT_MS = 5_000;

export interface RunState {
  /** As Temporal says it: RUNNING, COMPLETED, FAILED, … */
  readonly status: string;
  readonly startedAt: string;
  readonly closedAt: string | null;
}

/** The delivery run of one event, reached through Temporal. Each method throws a CommandFailure when Temporal fails. */
export interface DeliveryRunLink {
  readonly workflowId: string;
  readonly namespace: string;
  readonly address: string;
  /** @returns null when there never was a run, or Temporal has forgotten it */
  describe(): Promise<RunState | null>;
  /** Ends the wait of the run's handlers. @returns false when no run is open */
  retryNow(handler: string | undefined): Promise<boolean>;
  start(event: DeliveryEvent, waiting: readonly WaitingDelivery[]): Promise<void>;
  close(): Promise<void>;
}

/** @throws CommandFailure when Temporal cannot be reached */
export async function connectDeliveryRun(config: Config, eventId: string): Promise<DeliveryRunLink> {
  // Loaded here, since it takes most of a second: verbs that do not need Temporal start at once.
  const { connectClient, TemporalAwayError } = await import('../temporal/client.js');
  let temporal;
  try {
    temporal = await connectClient({ connectTimeoutMs: CONNECT_TIMEOUT_MS });
  } catch (error) {
    if (!(error instanceof TemporalAwayError)) throw error;
    throw new CommandFailure(error.message, undefined, { cause: error });
  }
  const { client, address, namespace } = temporal;
  const { WorkflowNotFoundError, ServiceError } = await import('@temporalio/client');
  const workflowId = deliveryWorkflowId(config.schema, eventId);
  const ask = async <T>(what: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await client.withDeadline(deadlineIn(ANSWER_TIMEOUT_MS), what);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      const cause = error instanceof ServiceError && error.cause ? error.cause : error;
      throw new CommandFailure(`Temporal at ${address} failed: ${sentenceOf(cause)}`, undefined, { cause: error });
    }
  };
  return {
    workflowId,
    namespace,
    address,
    close: () => temporal.close(),
    describe: async () => {
      const found = await ask(() => client.workflow.getHandle(workflowId).describe());
      if (!found) return null;
      const { status, startTime, closeTime } = found;
      return { status: status.name, startedAt: startTime.toISOString(), closedAt: closeTime?.toISOString() ?? null };
    },
    retryNow: async (handler) => {
      const request = handler === undefined ? {} : { handler };
      const told = await ask(async () => {
        await client.workflow.getHandle(workflowId).signal('retryNow', request);
        return true;
      });
      return told ?? false;
    },
    start: async (event, waiting) => {
      const { DeliveryRuns } = await import('../temporal/deliveryRuns.js');
      const runs = new DeliveryRuns(config);
      runs.use(client);
      await ask(() => runs.start(event, waiting));
    },
  };
}

/** The run's page, where its UI is known: named by TEMPORAL_UI_URL, or that of the development servers. */
export function runPage(address: string, namespace: string, workflowId: string, env = process.env): string | null {
  const { TEMPORAL_UI_URL, OUTBOX_TEMPORAL_UI_PORT } = env;
  const isLocal = /^(127\.0\.0\.1|localhost):/.test(address);
  // The ports that `npm start` gives to Temporal and its UI.
  const port = OUTBOX_TEMPORAL_UI_PORT ?? (address.endsWith(':7243') ? '8243' : undefined);
  const ui = TEMPORAL_UI_URL ?? (isLocal && port ? `http://127.0.0.1:${port}` : undefined);
  if (!ui) return null;
  return `${ui.replace(/\/+$/, '')}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}`;
}
