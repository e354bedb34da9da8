import { historySince } from '../history';
import { bareLane, drainOnce, type Lane, type Run } from '../lane';
import { median, sum } from '../numbers';
import { peakMb } from '../usage';
import { deliveryRuns } from './deliveryRuns';
import type { Stage } from './stage';
import { watchHandled } from './watchHandled';

const EVENTS = 20_000;
const PAIRS = 5;

/**
 * A backlog, from the first claim until the last effect: the worker against a bare loop. The relay is paused while the
 * bare loop runs. Every other pair turns the order around, so that a machine that grows slower favours nobody; a first
 * pair warms both up.
 */
export async function drain(stage: Stage): Promise<Record<string, unknown>> {
  const { rig } = stage;
  const { relay, temporal } = rig;
  const events = rig.quick ? 4_000 : EVENTS;
  const pairs = rig.quick ? 2 : PAIRS;
  const begun = new Date();
  await stage.startAfresh();
  const worker = await stage.worker();
  await relay.pause();
  const bare = await stage.bareLoop();
  const lanes: Record<'bare' | 'worker', Lane> = {
    bare: bareLane(bare),
    worker: { pid: worker.pid, start: () => relay.resume(), rest: () => relay.pause() },
  };
  const workflows = [rig.config.relayWorkflowId, ...(stage.backend === 'nats' ? [rig.config.consumerWorkflowId] : [])];
  const observer = rig.database(1, { enable_seqscan: 'off' });
  const runs = { bare: [] as Run[], worker: [] as Run[] };
  const history = { events: 0, activities: 0 };

  for (let pair = 0; pair <= pairs; pair++) {
    const order = ['bare', 'worker'] as const;
    for (const name of pair % 2 === 0 ? order : [...order].reverse()) {
      await stage.startAfresh(events);
      const since = new Date();
      const run = await drainOnce(lanes[name], events, (start) => watchHandled(observer, events, start));
      stage.say(`drain ${pair === 0 ? 'warm-up' : `${pair}/${pairs}`} ${name}: ${Math.round(run.perSecond)} events/s`);
      await check();
      if (pair === 0) continue;
      runs[name].push(run);
      if (name === 'bare') continue;
      for (const workflow of workflows) {
        const counted = await historySince(temporal, workflow, since);
        history.events += counted.events;
        history.activities += counted.activities;
      }
    }
  }
  const peak = { worker: peakMb(worker.pid), bare: peakMb(bare.pid) };
  const { started } = await deliveryRuns(rig, begun);
  await relay.resume();
  await worker.stop();
  await observer.close();

  const thousands = (events * pairs) / 1_000;
  const speed = (name: keyof typeof runs) => median(runs[name].map(({ perSecond }) => perSecond));
  const cpu = (name: keyof typeof runs) => sum(runs[name].map((run) => run.cpuMs)) / thousands;
  // Of pairs and not of medians: each pair ran within seconds of one another.
  const ratios = runs.worker.map(({ perSecond }, index) => perSecond / (runs.bare[index]?.perSecond ?? NaN));
  return {
    events,
    eventsPerSecond: speed('worker'),
    bareLoopEventsPerSecond: speed('bare'),
    ratio: median(ratios),
    ratios,
    activitiesPer1000: history.activities / thousands,
    historyEventsPer1000: history.events / thousands,
    deliveryRuns: started,
    cpuMsPer1000: cpu('worker'),
    bareLoopCpuMsPer1000: cpu('bare'),
    memoryMb: peak.worker,
    bareLoopMemoryMb: peak.bare,
  };

  /** A drain that lost or repeated something is no figure. */
  async function check(): Promise<void> {
    const effects = await stage.effects('orders');
    if (effects.events !== events || effects.twice > 0)
      throw new Error(`a drain of ${events} events had ${effects.events} effects, and ${effects.twice} too many`);
  }
}
