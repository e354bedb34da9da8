import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ConsumerActivities } from '../activities/consumer';
import type { createDeliveryActivities } from '../activities/delivery';
import type { MaintenanceActivities } from '../activities/maintenance';
import type { RelayActivities } from '../activities/relay';
import type { Config } from '../config';
import { versioning } from './versioning';

export interface WorkersOptions {
  readonly config: Config;
  readonly connection: NativeConnection;
  readonly namespace: string;
  /** Task queue that only this process polls. */
  readonly ownQueue: string;
  readonly bundle: { readonly codePath: string } | undefined;
  readonly relay: RelayActivities;
  readonly maintenance: MaintenanceActivities;
  /** Absent in a process that does not receive from a broker. */
  readonly consumer: ConsumerActivities | undefined;
  /** Absent in a process without handlers. */
  readonly delivery: ReturnType<typeof createDeliveryActivities> | undefined;
  /** How many handlers there are. */
  readonly handlers: number;
}

const MAX_ATTEMPTS_AT_ONCE = 100;
/**
 * After the grace, for what hangs: handlers and batches have their end before it. With the closing of connections the
 * process then ends within 5 s (C39).
 */
const FORCED_AFTER_MS = 1_500;

/** One Temporal worker for each task queue that this process polls. */
export async function createWorkers(options: WorkersOptions): Promise<Worker[]> {
  const { config, connection, namespace, ownQueue, relay, maintenance, consumer, delivery, handlers } = options;
  const common = {
    ...{ connection, namespace },
    shutdownGraceTime: config.worker.shutdownGraceMs,
    shutdownForceTime: config.worker.shutdownGraceMs + FORCED_AFTER_MS,
  };
  const workflows = {
    ...workflowSource(options.bundle),
    stickyQueueScheduleToStartTimeout: config.worker.stickyTimeoutMs,
  };
  const workers = [
    await Worker.create({
      ...common,
      ...workflows,
      ...versioning(config, 'PINNED'),
      taskQueue: config.taskQueue,
      activities: { ...relay, ...maintenance, ...(consumer && { acknowledge: consumer.acknowledge }) },
      // A relay is one run, and one claim at a time: small fixed numbers, so that a worker holds little memory.
      maxCachedWorkflows: 50,
      tuner: slots(10, 20),
      ...pollers(2),
    }),
    // Never versioned: each start is a queue of another name, and a version of a deployment may have 100 of them.
    await Worker.create({
      ...common,
      taskQueue: ownQueue,
      activities: { publish: relay.publish, ...(consumer && { receive: consumer.receive }) },
      // Backend `db`: each batch that waits for a slow handler holds one.
      tuner: slots(1, 40),
      // A receive must not wait behind the collecting of outcomes.
      ...pollers(consumer ? 2 : 1),
    }),
  ];
  if (delivery) {
    workers.push(
      await Worker.create({
        ...common,
        ...workflows,
        // A build that mends a handler must reach the runs that wait for it.
        ...versioning(config, 'AUTO_UPGRADE'),
        taskQueue: config.deliveryTaskQueue,
        activities: delivery,
        // Runs wait for minutes: one that is not cached is read again from its history, which is short. A mass failure
        // fills the cache, at nearly half a megabyte each.
        maxCachedWorkflows: 100,
        // As in the fast path, so that a handler that hangs does not hold up the retries of others.
        tuner: slots(20, Math.min(MAX_ATTEMPTS_AT_ONCE, handlers * config.handling.concurrency)),
        ...pollers(2),
      }),
    );
  }
  return workers;
}

/** The bundle that the build made; without it (tests, development) the workflows are bundled now. */
function workflowSource(
  given: WorkersOptions['bundle'],
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
