/**
 * Counters, gauges and histograms in Prometheus' text format. Our own, since an observation is made for each event: with
 * `prom-client` it took a tenth of all that an event costs the worker (ADR 0021).
 */

/** Values of a metric's labels, in the order of their names. Never ids or tenants: each value is a series of its own. */
type LabelValues = readonly string[];

interface Series {
  readonly labels: LabelValues;
}

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

abstract class Metric<S extends Series> {
  protected abstract readonly type: 'counter' | 'gauge' | 'histogram';
  private readonly series = new Map<string, S>();

  constructor(
    readonly name: string,
    readonly help: string,
    private readonly labelNames: readonly string[],
  ) {}

  protected abstract create(labels: LabelValues): S;
  protected abstract lines(series: S): (readonly [suffix: string, label: string, value: number])[];

  protected of(labels: LabelValues): S {
    const key = labels.length === 1 ? (labels[0] as string) : labels.join('\n');
    let series = this.series.get(key);
    if (series === undefined) {
      series = this.create(labels);
      this.series.set(key, series);
    }
    return series;
  }

  protected forget(): void {
    this.series.clear();
  }

  /** @param common labels of all metrics, as text */
  text(common: string): string {
    const rows: string[] = [];
    for (const series of this.series.values()) {
      const own = series.labels.map((value, index) => `${this.labelNames[index]}="${escaped(value)}"`);
      for (const [suffix, label, value] of this.lines(series)) {
        const labels = [common, ...own, label].filter(Boolean).join(',');
        rows.push(`${this.name}${suffix}{${labels}} ${numberText(value)}`);
      }
    }
    if (rows.length === 0) return '';
    return `# HELP ${this.name} ${this.help}\n# TYPE ${this.name} ${this.type}\n${rows.join('\n')}\n`;
  }
}

export class Counter extends Metric<Series & { value: number }> {
  protected readonly type = 'counter';

  /** Counting nothing makes the series begin at 0, without which its first event is no increase. */
  add(count: number, ...labels: LabelValues): void {
    this.of(labels).value += count;
  }

  protected create(labels: LabelValues) {
    return { labels, value: 0 };
  }

  protected lines({ value }: { value: number }) {
    return [['', '', value] as const];
  }
}

export class Gauge extends Metric<Series & { value: number }> {
  protected readonly type = 'gauge';

  set(value: number, ...labels: LabelValues): void {
    this.of(labels).value = value;
  }

  /** What is not known is not shown: an old value would pass for one of now. */
  clear(): void {
    this.forget();
  }

  protected create(labels: LabelValues) {
    return { labels, value: 0 };
  }

  protected lines({ value }: { value: number }) {
    return [['', '', value] as const];
  }
}

interface Distribution extends Series {
  /** By bound, not summed up; the last is what is above all of them. */
  readonly counts: Float64Array;
  sum: number;
}

export class Histogram extends Metric<Distribution> {
  protected readonly type = 'histogram';

  /** @param bounds upper bounds of the buckets in seconds, ascending */
  constructor(
    name: string,
    help: string,
    labelNames: readonly string[],
    private readonly bounds: readonly number[],
  ) {
    super(name, help, labelNames);
  }

  /** @param count of events for which it took so long */
  observe(seconds: number, count: number, ...labels: LabelValues): void {
    const distribution = this.of(labels);
    const { bounds } = this;
    let index = 0;
    while (index < bounds.length && seconds > (bounds[index] as number)) index++;
    distribution.counts[index] = (distribution.counts[index] as number) + count;
    distribution.sum += seconds * count;
  }

  protected create(labels: LabelValues): Distribution {
    return { labels, counts: new Float64Array(this.bounds.length + 1), sum: 0 };
  }

  protected lines({ counts, sum }: Distribution) {
    let total = 0;
    const buckets = [...this.bounds, Infinity].map((bound, index) => {
      total += counts[index] ?? 0;
      return ['_bucket', `le="${numberText(bound)}"`, total] as const;
    });
    return [...buckets, ['_sum', '', sum] as const, ['_count', '', total] as const];
  }
}

/** All metrics of one worker. */
export class Meter {
  private readonly metrics: { text(common: string): string }[] = [];
  private readonly common: string;

  /** @param labels of every metric */
  constructor(labels: Readonly<Record<string, string>>) {
    this.common = Object.entries(labels)
      .map(([name, value]) => `${name}="${escaped(value)}"`)
      .join(',');
  }

  counter(name: string, help: string, labels: readonly string[] = []): Counter {
    const counter = this.added(new Counter(name, help, labels));
    if (labels.length === 0) counter.add(0);
    return counter;
  }

  gauge(name: string, help: string, labels: readonly string[] = []): Gauge {
    return this.added(new Gauge(name, help, labels));
  }

  histogram(name: string, help: string, bounds: readonly number[], labels: readonly string[] = []): Histogram {
    const histogram = this.added(new Histogram(name, help, labels, bounds));
    if (labels.length === 0) histogram.observe(0, 0);
    return histogram;
  }

  text(): string {
    return this.metrics.map((metric) => metric.text(this.common)).join('');
  }

  private added<M extends { text(common: string): string }>(metric: M): M {
    this.metrics.push(metric);
    return metric;
  }
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function numberText(value: number): string {
  return value === Infinity ? '+Inf' : String(value);
}
