import type { Client } from '@temporalio/client';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createRelayActivities } from '../activities/relay';
import type { Broker } from '../broker';
import type { Config } from '../config';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import type { WakeListener } from '../postgres/wake';
import { within } from '../within';
import type { TemporalConnection } from './connection';
import { startRelay } from './relayStart';

/** Within the grace's rest: settling a batch takes milliseconds, unless PostgreSQL does not answer. */
const RELEASE_TIMEOUT_MS = 2_000;

export interface Polling {
  readonly config: Config;
  readonly db: Database;
  readonly broker: Broker;
  readonly wake: WakeListener;
  readonly temporal: TemporalConnection;
  readonly client: Client;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
  /** Called when both queues are polled, and never before. */
  readonly onReady: (() => void) | undefined;
  readonly workflowBundle: { readonly codePath: string } | undefined;
}

/** Polls until told to stop. */
export async function poll(deps: Polling): Promise<void> {
  const { config, db, broker, wake, temporal, client, logger, stopping } = deps;
  const { connection, namespace } = temporal;
  const ownQueue = `${config.taskQueue}/${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const relay = createRelayActivities({ db, broker, wake, config, logger, ownQueue, stopping });
  await startRelay(client, config, db);

  const grace = {
    shutdownGraceTime: config.worker.shutdownGraceMs,
    shutdownForceTime: config.worker.shutdownGraceMs + 4_000,
  };
  const shared = await Worker.create({
    connection,
    namespace,
    taskQueue: config.taskQueue,
    activities: relay.activities,
    ...workflowSource(deps.workflowBundle),
    ...grace,
    stickyQueueScheduleToStartTimeout: config.worker.stickyTimeoutMs,
    // A relay is one run, and one claim at a time: small fixed numbers, so that a worker holds little memory.
    maxCachedWorkflows: 50,
    tuner: slots(10, 20),
    ...pollers(2),
  });
  const own = await Worker.create({
    connection,
    namespace,
    taskQueue: ownQueue,
    activities: { publish: relay.activities.publish },
    ...grace,
    tuner: slots(1, 10),
    ...pollers(1),
  });

  const stop = () => {
    for (const worker of [shared, own]) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const runs = [shared.run(), own.run()];
  const running = Promise.all(runs);
  stopping.addEventListener('abort', stop, { once: true });
  if (stopping.aborted) stop();
  else {
    logger.info({ taskQueue: config.taskQueue, relay: config.relayWorkflowId }, 'The worker is ready');
    deps.onReady?.();
  }
  try {
    await running;
  } finally {
    stopping.removeEventListener('abort', stop);
    // Also when one of the two failed: the other must not poll on without it.
    stop();
    await Promise.allSettled(runs);
    await within(RELEASE_TIMEOUT_MS, relay.releaseAll());
  }
}

/** The bundle that the build made; without it (tests, development) the workflows are bundled now. */
function workflowSource(
  given: Polling['workflowBundle'],
): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath' | 'dataConverter'> {
  if (given) return { workflowBundle: given };
  const bundle = join(__dirname, '..', 'workflow-bundle.js');
  return existsSync(bundle)
    ? { workflowBundle: { codePath: bundle } }
    : {
        workflowsPath: require.resolve('../workflows'),
        dataConverter: { payloadConverterPath: require.resolve('../workflows/payloadConverter') },
      };
}

/**
 * Few: each poll of a worker that is frozen or cut off, but whose connection stands, swallows one task until that task's
 * time-out, one after the other. With the default of ten of each kind, such a worker held the relay up for a minute.
 */
function pollers(activities: number): Pick<WorkerOptions, 'workflowTaskPollerBehavior' | 'activityTaskPollerBehavior'> {
  const fixed = (maximum: number) => ({ type: 'simple-maximum' as const, maximum });
  // Two is the least: one for the sticky queue.
  return { workflowTaskPollerBehavior: fixed(2), activityTaskPollerBehavior: fixed(activities) };
}

function slots(workflows: number, activities: number): NonNullable<WorkerOptions['tuner']> {
  const fixed = (numSlots: number) => ({ type: 'fixed-size' as const, numSlots });
  return {
    workflowTaskSlotSupplier: fixed(workflows),
    activityTaskSlotSupplier: fixed(activities),
    localActivityTaskSlotSupplier: fixed(1),
    nexusTaskSlotSupplier: fixed(1),
  };
}

/** gRPC codes that a server gives while it starts, stops, is overloaded or cut off; others do not pass by waiting. */
const PASSING = new Set([1, 2, 4, 8, 10, 13, 14]);

/** The connection failed, not the worker: connecting again may help. */
export function isTransport(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // The worker's own ServiceError has the code itself, the client's in its cause.
  const { code, cause } = error as Error & { code?: number; cause?: { code?: number } };
  if (error.name === 'ServiceError') return PASSING.has(code ?? cause?.code ?? 2);
  return ['TransportError', 'UnexpectedError'].includes(error.name);
}
