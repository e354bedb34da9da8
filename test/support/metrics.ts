import { eventually } from './eventually';
import type { WorkerProcess } from './outbox';

/** Until a scrape shows what has happened. */
const SECONDS = 60;

/** A port that is free when asked for, so that any number of workers serve at once. */
export const ANY_PORT = { OUTBOX_METRICS_ADDRESS: '127.0.0.1:0' };

/** One sample of a scrape. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Where a worker serves its metrics, as its log says. */
export async function endpointOf({ logs }: Pick<WorkerProcess, 'logs'>): Promise<string> {
  const url = await eventually(
    () => /http:\/\/[^"]+(?=\/metrics)/.exec(logs.find((line) => line.includes('/healthz and /readyz are')) ?? '')?.[0],
    undefined,
    'a line that says where metrics are served',
  );
  return url;
}

export async function scrape(endpoint: string): Promise<Sample[]> {
  const response = await fetch(`${endpoint}/metrics`);
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`);
  return samplesOf(await response.text());
}

/** The first scrape that holds what is waited for. */
export function scraped(endpoint: string, holds: (samples: Sample[]) => boolean): Promise<Sample[]> {
  return eventually(
    async () => {
      const samples = await scrape(endpoint);
      return holds(samples) ? samples : undefined;
    },
    SECONDS * 1_000,
    'such metrics',
  );
}

/** Reads the text format; fails on a line that is none, and on a series that stands there twice. */
export function samplesOf(text: string): Sample[] {
  const seen = new Set<string>();
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP ') || line.startsWith('# TYPE ')) continue;
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`no line of the text format: ${line}`);
    if (seen.size === seen.add(`${name}{${labels}}`).size) throw new Error(`twice: ${line}`);
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
    samples.push({
      name,
      labels: Object.fromEntries(pairs) as Record<string, string>,
      value: Number(value.replace('+Inf', 'Infinity')),
    });
  }
  return samples;
}

/** The sum of a metric's samples that have these labels; NaN when there is none. */
export function total(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  const found = samples.filter(
    (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? NaN : found.reduce((sum, { value }) => sum + value, 0);
}
