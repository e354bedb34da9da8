import type { Client } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { createConsumerActivities } from '../activities/consumer';
import { createDeliveryActivities } from '../activities/delivery';
import { createMaintenanceActivities } from '../activities/maintenance';
import { createRelayActivities } from '../activities/relay';
import type { Broker } from '../broker';
import type { Config } from '../config';
import type { Grace } from '../grace';
import type { Source } from '../consumer';
import { Membership } from '../consumer/membership';
import type { Handling } from '../handlers/handling';
import type { Logger } from '../logger';
import type { Database } from '../postgres/database';
import type { WakeListener } from '../postgres/wake';
import type { Archive } from '../retention/archive';
import { within } from '../within';
import type { Telemetry } from '../telemetry/telemetry';
import type { TemporalConnection } from './connection';
import { joinConsumer } from './consumerStart';
import { scheduleMaintenance } from './maintenanceSchedule';
import { startRelay } from './relayStart';
import { registerSearchAttributes } from './searchAttributes';
import { setCurrentCommand } from './versioning';
import { createWorkers } from './workers';

/** Within the grace's rest: settling a batch takes milliseconds, unless PostgreSQL does not answer. */
const RELEASE_TIMEOUT_MS = 1_000;

export interface Polling {
  readonly config: Config;
  readonly db: Database;
  readonly broker: Broker;
  /** Backend `nats`, in a worker with handlers. */
  readonly source: Source | undefined;
  readonly wake: WakeListener;
  readonly temporal: TemporalConnection;
  readonly client: Client;
  readonly handling: Handling;
  readonly archive: Archive | undefined;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly grace: Grace;
  /** Called when both queues are polled, and never before. */
  readonly onReady: (() => void) | undefined;
  readonly workflowBundle: { readonly codePath: string } | undefined;
}

/** Polls until told to stop. */
export async function poll(deps: Polling): Promise<void> {
  const { config, db, broker, wake, temporal, client, handling, logger, telemetry, grace } = deps;
  const { stopping } = grace;
  const { metrics, parts } = telemetry;
  const { connection, namespace } = temporal;
  const ownQueue = `${config.taskQueue}/${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const handlingMs = handling.registry.longestTimeoutMs;
  const relay = createRelayActivities({
    db,
    broker,
    wake,
    config,
    logger,
    metrics,
    ownQueue,
    stopping,
    handlingMs,
    runs: handling.runs,
  });
  await startRelay(client, config, db, handlingMs);
  const registration = await registerSearchAttributes(connection.operatorService, namespace);
  // Whoever may not register them may still have them: starts name them until one is refused.
  if (registration.kind === 'refused')
    logger.info(`Search attributes were not registered (${registration.reason}): \`outbox migrate\` says how to`);
  handling.runs.use(client);

  const membership = new Membership({
    join: () => joinConsumer(client, config, db, ownQueue),
    timings: config.relay,
    logger,
  });
  const { fastPath: intake, registry } = handling;
  const consumer =
    deps.source && createConsumerActivities({ source: deps.source, intake, config, metrics, membership, stopping });
  const workers = await createWorkers({
    ...{ config, connection, namespace, ownQueue, bundle: deps.workflowBundle },
    relay: relay.activities,
    consumer,
    handlers: registry.size,
    maintenance: createMaintenanceActivities({ db, config, logger, metrics, archive: deps.archive, stopping }),
    delivery: registry.size > 0 ? createDeliveryActivities(handling.deliveryDeps()) : undefined,
  });

  const stop = () => {
    // Now, not when the workers have ended: until then it would ask for receives on a queue that nobody polls.
    membership.leave();
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const runs = workers.map((worker) => worker.run());
  const running = Promise.all(runs);
  stopping.addEventListener('abort', stop, { once: true });
  running.catch(() => undefined);
  // Beside the start: nothing waits for it.
  const scheduled = scheduleMaintenance(client, config, logger);
  try {
    if (stopping.aborted) stop();
    else {
      // Only now that its queue is polled: the consumer drops a worker that takes no receive.
      if (consumer) await membership.start();
      logger.info({ taskQueue: config.taskQueue, relay: config.relayWorkflowId }, 'The worker is ready');
      if (config.worker.buildId !== undefined)
        logger.info(
          `This worker is build ${config.worker.buildId} of deployment ${config.worker.deploymentName}; it gets work when that is the current version: ${setCurrentCommand(config, namespace)}`,
        );
      parts.polling = true;
      deps.onReady?.();
    }
    await running;
  } finally {
    parts.polling = false;
    stopping.removeEventListener('abort', stop);
    // Also when one of the two failed: the other must not poll on without it.
    stop();
    await Promise.allSettled([...runs, within(config.worker.shutdownGraceMs, scheduled)]);
    // Of backend `nats`, where handlers run beside the receive that took their events in. The end of the grace cuts them
    // short; what they and their ledger claims came to is written before the connections go. The workers may have taken
    // all of it already, where PostgreSQL stands still.
    await within(grace.leftMs, handling.fastPath.whenIdle());
    await within(RELEASE_TIMEOUT_MS, relay.releaseAll());
  }
}
