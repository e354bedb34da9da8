import { percentile } from '../numbers';
import { orderPlaced } from '../steady';
import { flow } from './flow';
import type { Stage } from './stage';

const RATE = 100;
const SECONDS = 30;
const WARM_UP_SECONDS = 5;

/** From commit to effect at 100 single-event transactions a second. Every event is timed. */
export async function latency(stage: Stage): Promise<Record<string, unknown>> {
  const seconds = stage.rig.quick ? 10 : SECONDS;
  await stage.startAfresh();
  const worker = await stage.worker();
  await send(WARM_UP_SECONDS);
  const { latencies, latestStartMs } = await send(seconds);
  await worker.stop();
  stage.say(`latency: ${latencies.length} events`);
  return {
    p50Ms: percentile(latencies, 0.5),
    p90Ms: percentile(latencies, 0.9),
    p99Ms: percentile(latencies, 0.99),
    maxMs: percentile(latencies, 1),
    latestStartMs,
  };

  function send(forSeconds: number) {
    const order = (n: number) => (n < RATE * forSeconds ? orderPlaced(n) : undefined);
    return flow(stage, { rate: RATE, sample: 1, order });
  }
}
