import type { Command } from 'commander';
import { stopSignal } from '../cli/stopSignal';
import { loadConfig } from '../config';
import { createLogger } from '../logger';

export function addWorker(program: Command): void {
  program
    .command('worker')
    .summary('run a worker: it starts the relay unless it runs')
    .description(
      'Runs a worker until SIGTERM or SIGINT. It migrates the tables (unless OUTBOX_MIGRATE=off), starts the relay workflow unless it runs already, publishes events, and runs the handlers of a module. Servers that are late are waited for. Run as many as you like.',
    )
    .option(
      '--handlers <module>',
      'a module that exports `handlers`; without it the worker publishes and handles nothing',
    )
    .addHelpText(
      'after',
      `
Logs go to stderr: readable on a terminal, JSON otherwise.

On SIGTERM what is acknowledged is marked done, the rest is free for other
workers at once, and the exit code is 0. The longest it takes is set by
OUTBOX_SHUTDOWN_GRACE_MS.

Examples:
  outbox worker
  outbox worker --handlers ./handlers.js
  EVENT_BUS_BACKEND=db outbox worker --handlers ./handlers.js
  OUTBOX_LOG_LEVEL=debug outbox worker`,
    )
    .action(runWorkerVerb);
}

async function runWorkerVerb({ handlers }: { handlers?: string }): Promise<void> {
  const config = loadConfig();
  const logger = createLogger(config.logLevel);
  const { installRuntime } = await import('../temporal/runtime.js');
  const { runWorker } = await import('../worker.js');
  const { loadHandlers } = await import('../handlers/loadHandlers.js');
  installRuntime(logger, { metrics: config.metricsAddress !== 'off' });
  const loaded = handlers === undefined ? {} : await loadHandlers(handlers);
  await runWorker(config, { ...loaded, logger, signal: stopSignal((name) => logger.info(`${name}: stopping`)) });
}
