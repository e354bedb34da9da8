import { stopSignal } from './cli/stopSignal';
import { loadConfig } from './config';
import { ConfigError } from './errors';
import { createLogger } from './logger';
import { runWorker } from './runWorker';
import { installRuntime } from './temporal/runtime';

const UNWINDS_WITHIN_MS = 500;

/**
 * The worker as a process, without handlers: settings from the environment; SIGTERM and SIGINT stop it; exit code 1 on a
 * hopeless start.
 */
async function main(): Promise<void> {
  let logger = createLogger('info');
  try {
    const config = loadConfig();
    logger = createLogger(config.logLevel);
    installRuntime(logger, { metrics: config.metricsAddress !== 'off' });
    await runWorker(config, { logger, signal: stopSignal((name) => logger.info(`${name}: stopping`)) });
    // A socket to a server that does not answer must not keep the process. Unref'd: it does not keep it either.
    setTimeout(() => process.exit(), UNWINDS_WITHIN_MS).unref();
  } catch (error) {
    logger.fatal(error instanceof ConfigError ? error.message : `The worker cannot run: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}

void main();
