import type { Config } from '../config';
import { ownVersion } from '../ownVersion';
import type { Meter } from './meter';

/** What is known of the process without measuring anything, under the names that dashboards for others look for. */
export class ProcessMetrics {
  private readonly cpu;
  private readonly resident;
  private readonly utilization;
  private cpuBefore = 0;
  private loopBefore = performance.eventLoopUtilization();

  constructor(meter: Meter, { backend, nats }: Config) {
    const build = meter.gauge('outbox_build_info', 'Always 1; its labels say what runs', [
      'version',
      'node',
      'backend',
      'mode',
    ]);
    build.set(1, ownVersion(), process.versions.node, backend, backend === 'db' ? 'none' : nats.mode);
    const started = meter.gauge('process_start_time_seconds', 'When the process started, in seconds since 1970');
    // eslint-disable-next-line no-restricted-syntax -- Prometheus wants it since 1970, and shows it only
    started.set((Date.now() - process.uptime() * 1_000) / 1_000);
    this.cpu = meter.counter('process_cpu_seconds_total', 'User and system time of the process');
    this.resident = meter.gauge('process_resident_memory_bytes', 'Memory that the process holds');
    this.utilization = meter.gauge(
      'nodejs_eventloop_utilization',
      'Share of the time since the scrape before that the event loop was busy',
    );
  }

  read(): void {
    const { user, system } = process.cpuUsage();
    const cpu = (user + system) / 1_000_000;
    this.cpu.add(cpu - this.cpuBefore);
    this.cpuBefore = cpu;
    this.resident.set(process.memoryUsage.rss());
    const loop = performance.eventLoopUtilization();
    this.utilization.set(performance.eventLoopUtilization(loop, this.loopBefore).utilization);
    this.loopBefore = loop;
  }
}
