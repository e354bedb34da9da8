/** What is measured, by area; an area that was not asked for is absent. */
export type Figures = Partial<Record<Area, Record<string, unknown>>>;

/** Those of the relay, and one for each backend of the handlers. */
export type Area =
  | 'machine'
  | 'drain'
  | 'latency'
  | 'temporal'
  | 'idle'
  | 'recovery'
  | 'prune'
  | 'claim'
  | 'cpu'
  | 'memory'
  | 'telemetry'
  | Backend;

export type Backend = 'db' | 'nats';

/** Adds the figures of one part to those before it. */
export function merged(all: Figures, more: Figures): Figures {
  const result: Figures = { ...all };
  for (const [area, figures] of Object.entries(more) as [Area, Record<string, unknown>][]) {
    result[area] = { ...result[area], ...figures };
  }
  return result;
}
