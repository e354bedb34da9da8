import { setTimeout as sleep } from 'node:timers/promises';
import { startAfresh } from '../fill';
import { drainOnce, type Run } from '../lane';
import { median, sum } from '../numbers';
import type { Rig } from '../rig';
import { watchDrain } from '../watchDrain';
import { openLanes, type TelemetryLane } from './lanes';

const EVENTS = 50_000;
const PAIRS = 10;
/** As the application's SDK writes it: the hooks do most where there is a trace to go on with. */
const IN_A_TRACE = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
/** Prometheus' own default is a minute; many have it at this. */
const SCRAPE_EVERY_MS = 15_000;

/**
 * Processor time of a worker for 1,000 events that it only publishes, which is where counting weighs most, with metrics
 * and the hooks for traces and without both. Two workers that stay warm, each on tables and a stream of its own, drain in turns; every other
 * pair turns the order around, and a first pair warms up. The one with metrics is scraped all the while.
 */
export async function cost(rig: Rig): Promise<Record<string, unknown>> {
  const events = rig.quick ? 10_000 : EVENTS;
  const pairs = rig.quick ? 3 : PAIRS;
  const lanes = await openLanes(rig);
  const runs = { on: [] as Run[], off: [] as Run[] };
  const over = new AbortController();
  const scraping = scrape(lanes.on.endpoint, over.signal);
  for (let pair = 0; pair <= pairs; pair++) {
    const order = ['on', 'off'] as const;
    for (const name of pair % 2 === 0 ? order : [...order].reverse()) {
      const run = await drainLane(lanes[name], events);
      const ms = (run.cpuMs * 1_000) / events;
      rig.say(`telemetry ${name} ${pair === 0 ? 'warm-up' : `${pair}/${pairs}`}: ${ms.toFixed(1)} ms per 1,000 events`);
      if (pair > 0) runs[name].push(run);
    }
  }
  over.abort();
  await scraping;
  await Promise.all([lanes.on.stop(), lanes.off.stop()]);
  const perThousand = (name: keyof typeof runs) =>
    (sum(runs[name].map(({ cpuMs }) => cpuMs)) * 1_000) / (events * pairs);
  const ratios = runs.on.map(({ cpuMs }, index) => cpuMs / (runs.off[index]?.cpuMs ?? NaN));
  return {
    events,
    pairs,
    withMsPer1000: perThousand('on'),
    withoutMsPer1000: perThousand('off'),
    // Of pairs and not of sums: each pair ran within seconds of one another.
    costRatio: median(ratios),
    costRatioOfSums: perThousand('on') / perThousand('off'),
    costRatios: ratios,
  };
}

async function drainLane({ rig, ...lane }: TelemetryLane, events: number): Promise<Run> {
  await startAfresh(rig, events, undefined, IN_A_TRACE);
  return drainOnce(lane, events, (start) => watchDrain(rig.db, start));
}

/** As Prometheus does, whatever the worker is at. */
async function scrape(endpoint: string | undefined, over: AbortSignal): Promise<void> {
  while (endpoint !== undefined && !over.aborted) {
    const response = await fetch(`${endpoint}/metrics`);
    if (!(await response.text()).includes('outbox_events_claimed_total')) throw new Error('a scrape had no metrics');
    await sleep(SCRAPE_EVERY_MS, undefined, { signal: over }).catch(() => undefined);
  }
}
