import { orderPlaced } from '../steady';
import { until } from '../until';
import { deliveryRuns } from './deliveryRuns';
import { flow } from './flow';
import { FIXED, slowdown, undisturbed } from './slowdown';
import type { Stage } from './stage';

const EVENTS = 10_000;

/** Orders at a fixed rate, at first healthy, then with one in a hundred that fails once: of the same handler. */
export async function failing(stage: Stage): Promise<Record<string, unknown>> {
  const events = stage.rig.quick ? 3_000 : EVENTS;
  await stage.startAfresh();
  const worker = await stage.worker();
  const begun = new Date();
  const before = await undisturbed(stage);
  stage.say(`failing: ${events} events, of which ${events / 100} fail once`);
  const during = await flow(stage, {
    ...FIXED,
    order: (n) => (n < events ? orderPlaced(n, { failsOnce: fails(n) }) : undefined),
    isHealthy: (n) => !fails(n),
  });
  const enqueued = await stage.enqueued();
  await until(async () => (await stage.effects('orders')).events === enqueued, 500);
  await until(async () => (await deliveryRuns(stage.rig, begun)).open === 0, 500);
  const runs = await deliveryRuns(stage.rig, begun);
  const { twice } = await stage.effects('orders');
  await worker.stop();
  return {
    failing: {
      events,
      expectedRuns: events / 100,
      runsStarted: runs.started,
      runsEnded: runs.completed,
      handledTwice: twice,
      largestHistory: runs.largestHistory,
      ...slowdown(before, during),
    },
  };
}

function fails(n: number): boolean {
  return n % 100 === 50;
}
