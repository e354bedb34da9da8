import { context, propagation, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  ParentBasedSampler,
  AlwaysOnSampler,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-node';
import { eventually } from './eventually';

/** An SDK as an application registers it, with W3C trace context and baggage; spans are kept in memory. */
export class Tracing {
  private readonly exporter = new InMemorySpanExporter();
  private readonly provider = new NodeTracerProvider({
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new SimpleSpanProcessor(this.exporter)],
  });

  constructor() {
    this.provider.register();
  }

  /** What has ended so far, by name and in the order of its start. */
  spans(name: string): ReadableSpan[] {
    return this.exporter
      .getFinishedSpans()
      .filter((span) => span.name === name)
      .sort((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1]);
  }

  all(): readonly ReadableSpan[] {
    return this.exporter.getFinishedSpans();
  }

  /** Resolves with the spans of this name when there are so many. */
  async ended(name: string, count: number, ms = 100_000): Promise<ReadableSpan[]> {
    await eventually(
      () => {
        const found = this.spans(name).length;
        if (found !== count) throw new Error(`${found} of ${count}`);
        return true;
      },
      ms,
      `${count} spans named ${name}`,
    );
    return this.spans(name);
  }

  /** Runs `work` in a span of an application, such as that of a request. */
  async within<T>(name: string, work: () => Promise<T>): Promise<{ result: T; spanId: string; traceId: string }> {
    const tracer = trace.getTracer('application');
    return tracer.startActiveSpan(name, async (span) => {
      const result = await work();
      span.end();
      return { result, ...span.spanContext() };
    });
  }

  clear(): void {
    this.exporter.reset();
  }

  async close(): Promise<void> {
    await this.provider.shutdown();
    trace.disable();
    context.disable();
    propagation.disable();
  }
}
