import { setTimeout as sleep } from 'node:timers/promises';
import { orderPlaced } from '../steady';
import { until } from '../until';
import { residentMb } from '../usage';
import { deliveryRuns } from './deliveryRuns';
import { flow } from './flow';
import { FIXED, slowdown, undisturbed } from './slowdown';
import type { Stage } from './stage';

const EVENTS = 2_000;
const OUTAGE_MS = 120_000;
/** From the end of the outage: the longest wait of the schedule, and time to work through all that became due. */
const HANDLED_WITHIN_MS = 400_000;
const LOOK_MS = 1_000;

/** Every event of one handler fails for two minutes, while another handler has its steady traffic. */
export async function storm(stage: Stage): Promise<Record<string, unknown>> {
  const { rig } = stage;
  const events = rig.quick ? 300 : EVENTS;
  const outageMs = rig.quick ? 20_000 : OUTAGE_MS;
  await stage.startAfresh();
  const worker = await stage.worker();
  const before = await undisturbed(stage);

  const memory = { startMb: residentMb(worker.pid), peakMb: 0, endMb: 0 };
  const sampling = setInterval(() => {
    memory.peakMb = Math.max(memory.peakMb, residentMb(worker.pid));
  }, LOOK_MS);
  const begun = new Date();
  let over = false;
  const flowing = flow(stage, { ...FIXED, order: (n) => (over ? undefined : orderPlaced(n)) });
  // Awaited below; until then nobody waits for it.
  flowing.catch(() => undefined);
  let handledAfterMs: number;
  try {
    stage.setOutage(true);
    await stage.addDue(events, 'PaymentDue');
    stage.say(`storm: ${events} events fail for ${outageMs / 1_000} s`);
    await sleep(outageMs);
    stage.setOutage(false);
    const healed = performance.now();
    await until(async () => (await stage.effects('payments')).events === events, LOOK_MS, HANDLED_WITHIN_MS);
    handledAfterMs = performance.now() - healed;
    stage.say(`storm: all handled ${Math.round(handledAfterMs / 1_000)} s after the outage`);
  } finally {
    over = true;
    clearInterval(sampling);
  }
  const during = await flowing;
  memory.endMb = residentMb(worker.pid);
  await until(async () => (await deliveryRuns(rig, begun)).open === 0, LOOK_MS);
  const runs = await deliveryRuns(rig, begun);
  const { twice } = await stage.effects('payments');
  const others = await Promise.all(
    [rig.config.relayWorkflowId, ...(stage.backend === 'nats' ? [rig.config.consumerWorkflowId] : [])].map(
      async (id) => (await rig.temporal.workflow.getHandle(id).describe()).historyLength,
    ),
  );
  await worker.stop();
  return {
    storm: {
      events,
      outageSeconds: outageMs / 1_000,
      handledTwice: twice,
      handledAfterMs,
      runs: runs.started,
      runsEnded: runs.completed,
      mostRunStartsPerSecond: runs.mostStartsPerSecond,
      largestHistory: runs.largestHistory,
      largestHistoryOfAll: Math.max(runs.largestHistory, ...others),
      memoryStartMb: memory.startMb,
      memoryPeakMb: memory.peakMb,
      memoryEndMb: memory.endMb,
      ...slowdown(before, during),
    },
  };
}
