import type { Figures } from './figures';
import { startAfresh } from './fill';
import { percentile } from './numbers';
import type { Rig } from './rig';
import { sendTraffic } from './traffic';

const RATE = 100;
/** At this rate the relay adds some 700 history events a minute; also in a short measurement it is to continue as new. */
const QUICK_ROLL_OVER_EVENTS = 150;
const WARM_UP_SECONDS = 5;

/** From commit to subscriber at 100 single-event transactions a second, a continue-as-new included. */
export async function latency(rig: Rig): Promise<Figures> {
  const { relay, say, quick } = rig;
  const seconds = quick ? 20 : 60;
  await startAfresh(rig);
  const worker = await rig.worker(quick ? { OUTBOX_ROLL_OVER_EVENTS: `${QUICK_ROLL_OVER_EVENTS}` } : {});
  await sendTraffic(rig, RATE, WARM_UP_SECONDS);
  const before = await relay.actions();
  const since = new Date();
  const { latencies, latestStartMs } = await sendTraffic(rig, RATE, seconds);
  const counted = await relay.historySince(since);
  const actions = (await relay.actions()).all - before.all;
  await worker.stop();
  say(`latency: ${latencies.length} events, ${counted.continuedAsNew} continue-as-new`);
  const thousands = latencies.length / 1_000;
  return {
    latency: {
      events: latencies.length,
      p50Ms: percentile(latencies, 0.5),
      p90Ms: percentile(latencies, 0.9),
      p99Ms: percentile(latencies, 0.99),
      maxMs: percentile(latencies, 1),
      latestStartMs,
      continuedAsNew: counted.continuedAsNew,
    },
    temporal: {
      activitiesPer1000At100PerSecond: counted.activities / thousands,
      historyEventsPer1000At100PerSecond: counted.events / thousands,
      actionsPerMinuteAt100PerSecond: (actions * 60) / seconds,
    },
  };
}
