import type { WorkflowHandle } from '@temporalio/client';
import type { Config } from '../config';
import type { MaintenanceRuns } from '../temporal/maintenanceRuns';
import { CommandFailure, sentenceOf } from './failure';
import { deadlineIn } from '../temporal/deadline';

/** A person waits; an unreachable server is tried for this long. */
const CONNECT_TIMEOUT_MS = 3_000;

export type RelayAbsence =
  /** Temporal itself cannot be used. */
  | 'temporal-away'
  /** Temporal answers, but no relay runs there. */
  | 'no-relay'
  /** The relay did not answer in time: no worker runs, or its step waits for PostgreSQL. */
  | 'no-answer';

/** The relay could not be asked. Says what to do about it. */
export class RelayAbsentError extends CommandFailure {
  constructor(
    readonly absence: RelayAbsence,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, undefined, options);
    this.name = 'RelayAbsentError';
  }
}

/** A running relay, reached through Temporal. */
export interface RelayLink {
  /**
   * Asks the relay, within a time.
   *
   * @throws RelayAbsentError when it cannot answer; CommandFailure with the relay's own reason when it refuses
   */
  ask<T>(timeoutMs: number, question: (handle: WorkflowHandle) => Promise<T>): Promise<T>;
  /** The same of the consumer. */
  askConsumer<T>(timeoutMs: number, question: (handle: WorkflowHandle) => Promise<T>): Promise<T>;
  /** How many runs a list filter finds. @throws as `ask` does */
  countRuns(timeoutMs: number, filter: string): Promise<number>;
  /** When the clean-up ran and runs next. @throws as `ask` does */
  maintenanceRuns(timeoutMs: number): Promise<MaintenanceRuns>;
  close(): Promise<void>;
}

interface AskedRun {
  readonly workflowId: string;
  readonly name: string;
  /** What to do when it does not run. */
  readonly start: string;
}

/** @throws RelayAbsentError `temporal-away` */
export async function connectRelay(config: Config): Promise<RelayLink> {
  // Loaded here, since it takes most of a second: verbs that do not need Temporal start at once.
  const { connectClient, TemporalAwayError } = await import('../temporal/client.js');
  let temporal;
  try {
    temporal = await connectClient({ connectTimeoutMs: CONNECT_TIMEOUT_MS });
  } catch (error) {
    if (!(error instanceof TemporalAwayError)) throw error;
    throw new RelayAbsentError('temporal-away', error.message, { cause: error });
  }
  const { client, address, namespace } = temporal;
  const sdk = await import('@temporalio/client');
  const { readMaintenanceRuns } = await import('../temporal/maintenanceRuns.js');
  const at = `(namespace ${namespace}, Temporal at ${address})`;
  const relay: AskedRun = {
    workflowId: config.relayWorkflowId,
    name: `the relay ${config.relayWorkflowId} ${at}`,
    start: 'start a worker with `outbox worker`, which starts the relay.',
  };
  const consumer: AskedRun = {
    workflowId: config.consumerWorkflowId,
    name: `the consumer ${config.consumerWorkflowId} ${at}`,
    start: 'a worker with handlers starts it (`outbox worker --handlers <module>`).',
  };
  const askOf =
    (run: AskedRun): RelayLink['ask'] =>
    async (timeoutMs, question) => {
      try {
        const handle = client.workflow.getHandle(run.workflowId);
        return await client.withDeadline(deadlineIn(timeoutMs), () => question(handle));
      } catch (error) {
        throw explain(error, run);
      }
    };
  return {
    close: () => temporal.close(),
    ask: askOf(relay),
    askConsumer: askOf(consumer),
    countRuns: async (timeoutMs, filter) => {
      try {
        return (await client.withDeadline(deadlineIn(timeoutMs), () => client.workflow.count(filter))).count;
      } catch (error) {
        throw explain(error, relay);
      }
    },
    maintenanceRuns: async (timeoutMs) => {
      const id = config.maintenanceId;
      try {
        return await client.withDeadline(deadlineIn(timeoutMs), () => readMaintenanceRuns(client, id));
      } catch (error) {
        if (!(error instanceof sdk.ScheduleNotFoundError)) throw explain(error, relay);
        throw new CommandFailure(
          `There is no schedule ${id} ${at}, so nothing removes old rows: a worker makes it at its start (\`outbox worker\`); \`outbox prune\` removes them by hand.`,
        );
      }
    },
  };

  function explain(error: unknown, run: AskedRun): unknown {
    const options = { cause: error };
    if (error instanceof sdk.WorkflowNotFoundError || error instanceof sdk.QueryRejectedError) {
      return new RelayAbsentError('no-relay', `Nothing runs as ${run.name}: ${run.start}`, options);
    }
    if (error instanceof sdk.WorkflowUpdateFailedError) {
      return new CommandFailure(`The relay refused: ${sentenceOf(error.cause ?? error)}`, undefined, options);
    }
    const cause = error instanceof sdk.ServiceError && error.cause ? error.cause : error;
    const isUpdate = error instanceof sdk.WorkflowUpdateRPCTimeoutOrCancelledError;
    if (
      isUpdate ||
      sdk.isGrpcDeadlineError(error) ||
      sdk.isGrpcCancelledError(error) ||
      (sdk.isGrpcServiceError(cause) && /no poller/i.test(cause.details))
    ) {
      const open = isUpdate
        ? ' The request may still be carried out: `outbox status` tells, and `outbox resume` takes a pause back.'
        : '';
      return new RelayAbsentError(
        'no-answer',
        `No answer from ${run.name}: see that a worker runs (\`outbox worker\`) and that its PostgreSQL answers.${open}`,
        options,
      );
    }
    if (error instanceof Error && error.name === 'NamespaceNotFoundError') {
      return new RelayAbsentError(
        'temporal-away',
        `Temporal at ${address} has no namespace ${namespace}: create it, or set TEMPORAL_NAMESPACE.`,
        options,
      );
    }
    if (sdk.isGrpcServiceError(cause)) {
      return new RelayAbsentError(
        'temporal-away',
        `Temporal at ${address} failed: ${cause.details || cause.message}.`,
        options,
      );
    }
    return error;
  }
}
