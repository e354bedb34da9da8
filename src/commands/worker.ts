import type { Command } from 'commander';
import { stopSignal } from '../cli/stopSignal';
import { addManual } from '../cli/manual';
import { DATABASE, NATS, TEMPORAL } from '../cli/variables';
import { loadConfig } from '../config';
import { createLogger } from '../logger';

export function addWorker(program: Command): void {
  const verb = program
    .command('worker')
    .summary('run a worker: it starts the relay unless it runs')
    .description(
      'Runs a worker until SIGTERM or SIGINT. It migrates the tables (unless OUTBOX_MIGRATE=off), starts the relay workflow unless it runs already, publishes events, and runs the handlers of a module. Servers that are late are waited for. Run as many as you like.',
    )
    .option(
      '--handlers <module>',
      'a module that exports `handlers`; without it the worker publishes and handles nothing',
    )
    .action(runWorkerVerb);
  addManual(verb, {
    details: `Logs go to stderr: readable on a terminal, JSON otherwise.

On SIGTERM what is acknowledged is marked done, the rest is free for other workers at once, and the exit code is 0. The longest that takes is OUTBOX_SHUTDOWN_GRACE_MS and 5 s.`,
    environment: [
      ...DATABASE,
      'OUTBOX_LISTEN_URL',
      'OUTBOX_MIGRATE',
      'EVENT_BUS_BACKEND',
      ...NATS,
      'NATS_MODE',
      'OUTBOX_CLOUDEVENTS_SOURCE',
      ...TEMPORAL,
      'OUTBOX_TASK_QUEUE',
      'EVENT_QUEUE_MAX_ATTEMPTS',
      'OUTBOX_CONCURRENCY',
      'OUTBOX_SHUTDOWN_GRACE_MS',
      'OUTBOX_METRICS_ADDRESS',
      'OUTBOX_BUILD_ID',
    ],
    exits: { 0: 'stopped by SIGTERM or SIGINT', 1: 'the settings are hopeless: waiting would not mend them' },
    examples: [
      ['outbox worker', 'publish'],
      ['outbox worker --handlers ./handlers.js', 'publish and handle'],
      ['EVENT_BUS_BACKEND=db outbox worker --handlers ./handlers.js', 'without NATS'],
      ['OUTBOX_LOG_LEVEL=debug outbox worker', 'with everything that it does'],
    ],
    seeAlso: ['doctor', 'status', 'config'],
  });
}

async function runWorkerVerb({ handlers }: { handlers?: string }): Promise<void> {
  const config = loadConfig();
  const logger = createLogger(config.logLevel);
  const { installRuntime } = await import('../temporal/runtime.js');
  const { runWorker } = await import('../runWorker.js');
  const { loadHandlers } = await import('../handlers/loadHandlers.js');
  installRuntime(logger, { metrics: config.metricsAddress !== 'off' });
  const loaded = handlers === undefined ? {} : await loadHandlers(handlers);
  await runWorker(config, { ...loaded, logger, signal: stopSignal((name) => logger.info(`${name}: stopping`)) });
}
