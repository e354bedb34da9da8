import type { Config } from '../config';
import type { Logger } from '../logger';
import { parseMetricsAddress } from './address';
import { readCoreMetrics } from './coreMetrics';
import { Endpoint } from './endpoint';
import { Metrics } from './metrics';
import type { Parts } from './parts';
import { ProcessMetrics } from './processMetrics';
import { Readings } from './readings';
import { readReadiness, type Readiness } from './readiness';

/**
 * `serve`: counted, and served at OUTBOX_METRICS_ADDRESS. `collect`: counted, for an endpoint of the application's own.
 * `off`: not even counted.
 */
export type TelemetryMode = 'serve' | 'collect' | 'off';

/** What a worker tells of itself: metrics, and whether it lives and can work. */
export class Telemetry {
  /** Absent when it is off: whoever counts says `metrics?.…`. */
  readonly metrics: Metrics | undefined;
  readonly parts: Parts = {};
  private readonly readings: Readings | undefined;
  private readonly process: ProcessMetrics | undefined;
  private endpoint: Endpoint | undefined;

  constructor(
    private readonly config: Config,
    private readonly mode: TelemetryMode = config.metricsAddress === 'off' ? 'off' : 'serve',
  ) {
    if (mode === 'off') return;
    this.metrics = new Metrics(config);
    this.process = new ProcessMetrics(this.metrics.meter, config);
    this.readings = new Readings(this.parts, this.metrics, config);
  }

  /** Begins to serve. Never rejects. */
  async open(logger: Logger): Promise<void> {
    const address = this.mode === 'serve' ? parseMetricsAddress(this.config.metricsAddress) : undefined;
    if (!address) return;
    const served = { metrics: () => this.text(), readiness: () => this.readiness() };
    this.endpoint = await Endpoint.open(address, served, logger);
  }

  /** In Prometheus' text format: the worker's own, and those of Temporal's SDK. Never rejects. */
  async text(): Promise<string> {
    const [core] = await Promise.all([readCoreMetrics(), this.readings?.read()]);
    this.process?.read();
    return `${this.metrics?.meter.text() ?? ''}${core}`;
  }

  async readiness(): Promise<Readiness> {
    return (await this.readings?.readiness.get()) ?? readReadiness(this.parts, this.config);
  }

  async close(): Promise<void> {
    await this.endpoint?.close();
  }
}
