import { loadConfig, type Config } from './config';
import { createLogger, type Logger } from './logger';
import { installRuntime } from './temporal/runtime';
import { Telemetry, type TelemetryMode } from './telemetry/telemetry';
import type { Readiness } from './telemetry/readiness';
import { runWorker, type RunWorkerOptions } from './runWorker';

export interface CreateWorkerOptions extends Pick<
  RunWorkerOptions,
  'handlers' | 'events' | 'redactFailure' | 'archive' | 'onReady'
> {
  /** Default: `loadConfig()`, from the environment. */
  readonly config?: Config;
  /** Default: a logger to stderr at OUTBOX_LOG_LEVEL. */
  readonly logger?: Logger;
  /**
   * `serve`: metrics are counted, and served at OUTBOX_METRICS_ADDRESS. `collect`: counted only, for an endpoint of your
   * own, which gives what `metrics()` returns. `off`: nothing of it. Default `serve`, and `off` when the address is.
   */
  readonly metrics?: TelemetryMode;
  /** SIGTERM and SIGINT stop it. Default true; false where the process has signal handlers of its own. */
  readonly handleSignals?: boolean;
}

export interface OutboxWorker {
  /** Resolves when the worker has stopped. @throws Error with one clear sentence when the start is hopeless */
  run(): Promise<void>;
  /** Stops within the grace; `run` resolves then. */
  stop(): void;
  /** The worker's metrics in Prometheus' text format, with those of Temporal's SDK. */
  metrics(): Promise<string>;
  /** Whether it can do its work now, and why not: what `/readyz` answers. */
  readiness(): Promise<Readiness>;
}

/**
 * A worker with your handlers, for an entry point of your own: it starts relay and consumer unless they run, publishes,
 * and handles. One in a process, since the Temporal runtime that it installs is one in a process.
 *
 * @throws ConfigError with every problem of the environment at once
 */
export function createWorker(options: CreateWorkerOptions = {}): OutboxWorker {
  const config = options.config ?? loadConfig();
  const logger = options.logger ?? createLogger(config.logLevel);
  const telemetry = new Telemetry(config, options.metrics);
  const stopping = new AbortController();
  return {
    run: async () => {
      installRuntime(logger, { metrics: telemetry.metrics !== undefined });
      const onSignal = (name: NodeJS.Signals) => {
        if (!stopping.signal.aborted) logger.info(`${name}: stopping`);
        stopping.abort();
      };
      const signals = options.handleSignals === false ? [] : (['SIGTERM', 'SIGINT'] as const);
      for (const name of signals) process.on(name, onSignal);
      try {
        await runWorker(config, { ...options, telemetry, logger, signal: stopping.signal });
      } finally {
        for (const name of signals) process.off(name, onSignal);
      }
    },
    stop: () => stopping.abort(),
    metrics: () => telemetry.text(),
    readiness: () => telemetry.readiness(),
  };
}
