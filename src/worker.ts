import { Client } from '@temporalio/client';
import { DefaultLogger, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRelayActivities } from './activities/relay';
import { openBroker, type Broker } from './broker';
import { loadConfig, type Config } from './config';
import { ConfigError } from './errors';
import { createLogger, type Logger } from './logger';
import { openDatabase, type Database } from './postgres/database';
import { checkVersion, migrateOrCheck } from './postgres/migrate';
import { connectDatabase } from './postgres/connect';
import { WakeListener } from './postgres/wake';
import { connectTemporal, type TemporalConnection } from './temporal/connection';
import { startRelay, wakeRelay } from './temporal/relayStart';

export interface RunWorkerOptions {
  readonly logger: Logger;
  /** Aborted = stop within the grace time. */
  readonly signal?: AbortSignal;
  /** Called when the worker polls, and never before. */
  readonly onReady?: () => void;
  /** The bundled workflows. Default: what the build made, else they are bundled now. */
  readonly workflowBundle?: { readonly codePath: string };
}

/**
 * Runs a worker until `signal` aborts: connects (waiting for servers that are late), migrates, starts the relay unless
 * it runs, and polls. Rows that are claimed and not published when it stops are free at once.
 *
 * @throws Error with one clear sentence when the configuration is hopeless: waiting would not mend it
 */
export async function runWorker(config: Config, options: RunWorkerOptions): Promise<void> {
  const { logger } = options;
  const stopping = options.signal ?? new AbortController().signal;
  const opened: { close(): Promise<void> }[] = [];
  try {
    const db = openDatabase({ url: config.databaseUrl, schema: config.schema, poolSize: config.poolSize }, (error) =>
      logger.warn(`A database connection was lost while idle (${error.message}); the next query opens another`),
    );
    opened.unshift(db);
    await connectDatabase(db, config, logger, stopping);
    const warn = (message: string) => logger.warn(message);
    if (config.migrateAtStart) await migrateOrCheck(db, warn);
    else await checkVersion(db, warn);

    const broker = await openBroker(config, logger);
    opened.unshift(broker);
    const wake = new WakeListener({
      url: config.listenUrl,
      db,
      proveEveryMs: config.relay.longPollMs,
      onChange: (proven, reason) =>
        proven
          ? logger.debug('Listening for wake-ups')
          : logger.warn(`No wake-ups, polling every ${config.relay.unprovenPollMs} ms: ${reason}`),
    });
    wake.start();
    opened.unshift(wake);

    let client: Client | undefined;
    broker.onBack(() => {
      if (client)
        wakeRelay(client, config).catch((error: Error) =>
          logger.debug(`The relay could not be woken: ${error.message}`),
        );
    });
    while (!stopping.aborted) {
      const temporal = await connectTemporal(logger, stopping);
      try {
        client = new Client({ connection: temporal.connection, namespace: temporal.namespace });
        await poll({ config, db, broker, wake, temporal, client, logger, stopping, options });
      } catch (error) {
        if (!isTransport(error)) throw error;
        logger.warn(`Temporal at ${temporal.address} was lost (${(error as Error).message}); connecting again`);
        await sleep(1_000, undefined, { signal: stopping });
      } finally {
        client = undefined;
        await temporal.connection.close().catch(() => undefined);
      }
    }
  } catch (error) {
    if (!(stopping.aborted && (error as Error).name === 'AbortError')) throw error;
  } finally {
    for (const resource of opened)
      await resource.close().catch((error: Error) => logger.debug(`While closing: ${error.message}`));
  }
}

interface Polling {
  readonly config: Config;
  readonly db: Database;
  readonly broker: Broker;
  readonly wake: WakeListener;
  readonly temporal: TemporalConnection;
  readonly client: Client;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
  readonly options: RunWorkerOptions;
}

/** Polls until told to stop. */
async function poll(deps: Polling): Promise<void> {
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
    ...workflowSource(deps.options),
    ...grace,
    stickyQueueScheduleToStartTimeout: config.worker.stickyTimeoutMs,
    // A relay is one run, and one claim at a time: small fixed numbers, so that a worker holds little memory.
    maxCachedWorkflows: 50,
    tuner: slots(10, 20),
    // Cancelling must reach an open claim soon; the SDK otherwise holds heartbeats back for up to a minute.
    maxHeartbeatThrottleInterval: '4s',
  });
  const own = await Worker.create({
    connection,
    namespace,
    taskQueue: ownQueue,
    activities: { publish: relay.activities.publish },
    ...grace,
    tuner: slots(1, 10),
  });

  const stop = () => {
    for (const worker of [shared, own]) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const running = Promise.all([shared.run(), own.run()]);
  stopping.addEventListener('abort', stop, { once: true });
  if (stopping.aborted) stop();
  else {
    logger.info({ taskQueue: config.taskQueue, relay: config.relayWorkflowId }, 'The worker is ready');
    deps.options.onReady?.();
  }
  try {
    await running;
  } finally {
    stopping.removeEventListener('abort', stop);
    // Also when one of the two failed: the other must not poll on without it.
    stop();
    await relay.releaseAll();
  }
}

/** The bundle that the build made; without it (tests, development) the workflows are bundled now. */
function workflowSource(options: RunWorkerOptions): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  if (options.workflowBundle) return { workflowBundle: options.workflowBundle };
  const bundle = join(__dirname, 'workflow-bundle.js');
  return existsSync(bundle)
    ? { workflowBundle: { codePath: bundle } }
    : { workflowsPath: require.resolve('./workflows') };
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

function isTransport(error: unknown): boolean {
  return error instanceof Error && ['TransportError', 'ServiceError', 'UnexpectedError'].includes(error.name);
}

/** The SDK's own log lines go through ours. Once per process, before anything connects. */
export function installRuntime(logger: Logger): void {
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      // Each worker's own queue carries activities only, which is meant.
      if (message.startsWith('No workflows registered')) return;
      const fields = { ...meta, sdk: true };
      if (level === 'ERROR') logger.error(fields, message);
      else logger.warn(fields, message);
    }),
    // Signals are ours to handle: the SDK's own handler would cancel nothing until the grace time is over.
    shutdownSignals: [],
  });
}

/** The worker as a process: settings from the environment; SIGTERM and SIGINT stop it; exit code 1 on a hopeless start. */
export async function main(): Promise<void> {
  let logger = createLogger('info');
  try {
    const config = loadConfig();
    logger = createLogger(config.logLevel);
    installRuntime(logger);
    const stop = new AbortController();
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.on(name, () => {
        if (!stop.signal.aborted) logger.info(`${name}: stopping`);
        stop.abort();
      });
    }
    await runWorker(config, { logger, signal: stop.signal });
    logger.info('The worker has stopped');
  } catch (error) {
    logger.fatal(error instanceof ConfigError ? error.message : `The worker cannot run: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}

if (require.main === module) void main();
