import { Client } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { openBroker, type Broker } from './broker';
import type { NatsLink } from './broker/link';
import { LocalBroker } from './broker/local';
import { listenSetting, type Config } from './config';
import { openReceiving, type Receiving } from './consumer';
import { Grace } from './grace';
import type { Handler } from './handlers/defineHandler';
import type { EventDefinition } from './handlers/defineEvent';
import type { RedactFailure } from './handlers/failureText';
import { Handling } from './handlers/handling';
import { HandlerRegistry } from './handlers/registry';
import type { Logger } from './logger';
import { prepareDatabase } from './postgres/connect';
import { openDatabase, type Database } from './postgres/database';
import { WakeListener } from './postgres/wake';
import { recordArchive, type Archive } from './retention/archive';
import { connectTemporal } from './temporal/connection';
import { poll } from './temporal/poll';
import { wake as wakeRun } from './temporal/identity';
import type { Metrics } from './telemetry/metrics';
import { Telemetry } from './telemetry/telemetry';
import { readTemporalSettings } from './temporal/settings';
import { isTransport } from './temporal/transport';
import { within } from './within';

/**
 * Far longer than a claim or a mark takes. A connection that is cut without a word would otherwise hold its statement,
 * and with it the claim and the worker's stop, until the kernel gives it up after many minutes.
 */
const QUERY_TIMEOUT_MS = 30_000;
/**
 * A server that does not answer does not answer a goodbye either. With the forced end of the workers, the release of what
 * they had claimed and the process's own end these make the 5 s that are promised after the grace (C39).
 */
const DISCONNECT_WITHIN_MS = 500;
const GIVE_BACK_WITHIN_MS = 1_000;
const CLOSE_WITHIN_MS = 500;

export interface RunWorkerOptions {
  readonly logger: Logger;
  /** Aborted = stop within the grace time. */
  readonly signal?: AbortSignal;
  /** Called when the worker polls, and never before. */
  readonly onReady?: () => void;
  /** The bundled workflows. Default: what the build made, else they are bundled now. */
  readonly workflowBundle?: { readonly codePath: string };
  /** Default: none, which suits a worker that only publishes to a broker. */
  readonly handlers?: readonly Handler[];
  /** All events there are. Given, a handler that names another type is refused. */
  readonly events?: readonly EventDefinition[];
  /** Default: as OUTBOX_METRICS_ADDRESS says. */
  readonly telemetry?: Telemetry;
  /** Takes out of a failure's text what must not be stored or logged. */
  readonly redactFailure?: RedactFailure;
  /** Is given rows before retention removes them. Once a worker had one, all of an installation need it. */
  readonly archive?: Archive;
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
  const grace = new Grace(stopping, config.worker.shutdownGraceMs);
  const registry = HandlerRegistry.of(options.handlers ?? [], options.events);
  const telemetry = options.telemetry ?? new Telemetry(config);
  const { metrics, parts } = telemetry;
  metrics?.knows(options.handlers ?? []);
  await telemetry.open(logger);
  stopping.addEventListener('abort', () => (parts.stopping = true), { once: true });
  const opened: { close(): Promise<void> }[] = [];
  let receiving: Receiving | undefined;
  let handling: Handling | undefined;
  try {
    // Told now, if they are hopeless, and not when PostgreSQL has come.
    readTemporalSettings();
    await prepareDatabase(config, logger, stopping);
    const db = openDatabase(
      { url: config.databaseUrl, schema: config.schema, poolSize: config.poolSize, query_timeout: QUERY_TIMEOUT_MS },
      (error) =>
        logger.warn(`A database connection was lost while idle (${error.message}); the next query opens another`),
    );
    opened.unshift(db);
    parts.db = db;
    if (options.archive) await recordArchive(db, true);

    const redact = options.redactFailure;
    handling = new Handling(registry, { db, config, logger, metrics, redact, stopping });
    parts.fastPath = handling.fastPath;
    await handling.start();
    const ends = await openEnds({ config, db, logger, metrics, handling, stopping });
    const { broker } = ends;
    opened.unshift(broker);
    parts.broker = broker;
    parts.link = ends.link;
    receiving = ends.receiving;
    const source = receiving?.source;
    parts.receives = source !== undefined;
    if (receiving?.inspector) {
      opened.unshift(receiving.inspector);
      await receiving.inspector.start();
    }
    const wake = new WakeListener({
      url: config.listenUrl,
      setting: listenSetting(config),
      db,
      proveEveryMs: config.relay.longPollMs,
      onChange: (proven, reason) =>
        proven
          ? logger.debug('Listening for wake-ups')
          : logger.warn(`No wake-ups, polling every ${config.relay.unprovenPollMs} ms: ${reason}`),
    });
    wake.start();
    opened.unshift(wake);
    parts.wake = wake;

    let client: Client | undefined;
    broker.onBack(() => {
      if (!client) return;
      const temporal = client;
      const runs = [config.relayWorkflowId, ...(source ? [config.consumerWorkflowId] : [])];
      const waking = runs.map((workflowId) => wakeRun(temporal, workflowId));
      Promise.all(waking).catch((error: Error) =>
        logger.debug(`Relay and consumer could not be woken: ${error.message}`),
      );
    });
    while (!stopping.aborted) {
      const temporal = await connectTemporal(logger, stopping);
      try {
        client = new Client({ connection: temporal.connection, namespace: temporal.namespace });
        parts.temporal = temporal;
        parts.client = client;
        await poll({
          config,
          db,
          broker,
          source,
          wake,
          temporal,
          client,
          handling,
          archive: options.archive,
          logger,
          telemetry,
          grace,
          onReady: options.onReady,
          workflowBundle: options.workflowBundle,
        });
      } catch (error) {
        if (!isTransport(error)) throw error;
        logger.warn(`Temporal at ${temporal.address} was lost (${(error as Error).message}); connecting again`);
        await sleep(1_000, undefined, { signal: stopping });
      } finally {
        client = parts.client = parts.temporal = undefined;
        handling.runs.use(undefined);
        const closed = temporal.connection.close().catch(() => undefined);
        await within(DISCONNECT_WITHIN_MS, closed);
      }
    }
  } catch (error) {
    if (!stopping.aborted) throw error;
    // Told to stop, so it stops; what it could not settle is taken over by the next claim.
    if ((error as Error).name !== 'AbortError') logger.warn(`While stopping: ${(error as Error).message}`);
  } finally {
    const close = (resource: { close(): Promise<void> }) =>
      resource.close().catch((error: Error) => logger.debug(`While closing: ${error.message}`));
    // It may have been told while Temporal was away, and nothing has waited for its handlers then.
    if (handling) await within(grace.leftMs, handling.fastPath.whenIdle());
    // What is in hand is given back while it still can, and the sweep writes down what it leaves, for which it needs the pool.
    const first = [...(receiving ? [receiving.source] : []), ...(handling ? [handling] : [])];
    await within(GIVE_BACK_WITHIN_MS, Promise.all(first.map(close)));
    await within(CLOSE_WITHIN_MS, Promise.all([telemetry, ...opened].map(close)));
  }
  logger.info('The worker has stopped');
}

/** Where events go to, and where handlers get them from. */
async function openEnds(deps: {
  config: Config;
  db: Database;
  logger: Logger;
  metrics: Metrics | undefined;
  handling: Handling;
  stopping: AbortSignal;
}): Promise<{ broker: Broker; link?: NatsLink; receiving?: Receiving }> {
  const { config, db, logger, metrics, handling, stopping } = deps;
  if (config.backend === 'db') return { broker: new LocalBroker(handling.fastPath) };
  const broker = await openBroker(config, logger);
  const { link } = broker;
  // Without handlers the durable is left to whoever reads it.
  if (handling.registry.size === 0) return { broker, link };
  const handlersFor = (type: string) => handling.fastPath.handlersFor(type);
  return {
    broker,
    link,
    receiving: openReceiving({ link, config, db, intake: handling.fastPath, logger, metrics, stopping, handlersFor }),
  };
}
