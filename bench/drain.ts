import { BareProcess } from './bareProcess';
import type { Figures } from './figures';
import { startAfresh } from './fill';
import { bareLane, drainOnce, type Run } from './lane';
import { median, sum } from './numbers';
import type { Rig } from './rig';
import { peakMb } from './usage';
import { watchDrain } from './watchDrain';

const EVENTS = 50_000;
const PAIRS = 5;

/**
 * The relay against two bare loops. Each round runs all three, the relay between the two, and every other round turns
 * the order around, so that a machine that grows slower or faster favours nobody. A first round warms everything up.
 */
export async function drain(rig: Rig): Promise<Figures> {
  const { relay, say } = rig;
  const events = rig.quick ? 10_000 : EVENTS;
  const pairs = rig.quick ? 2 : PAIRS;
  await startAfresh(rig);
  const worker = await rig.worker();
  await relay.pause();
  const lanes = {
    plain: bareLane(await BareProcess.start(rig, 'bareLoop.ts', { BENCH_PUBLISH: 'plain' })),
    relay: { pid: worker.pid, start: () => relay.resume(), rest: () => relay.pause() },
    same: bareLane(await BareProcess.start(rig, 'bareLoop.ts', { BENCH_PUBLISH: 'same' })),
  };
  const observer = rig.database(1, { enable_seqscan: 'off' });
  const runs = { plain: [] as Run[], relay: [] as Run[], same: [] as Run[] };
  const history = { events: 0, activities: 0, actions: 0 };

  for (let round = 0; round <= pairs; round++) {
    const order = ['plain', 'relay', 'same'] as const;
    for (const name of round % 2 === 0 ? order : [...order].reverse()) {
      await startAfresh(rig, events);
      const since = new Date();
      const actions = name === 'relay' ? await relay.actions() : undefined;
      const run = await drainOnce(lanes[name], events, (start) => watchDrain(observer, start));
      say(`drain ${round === 0 ? 'warm-up' : `${round}/${pairs}`} ${name}: ${Math.round(run.perSecond)} events/s`);
      if (round === 0) continue;
      runs[name].push(run);
      if (!actions) continue;
      const counted = await relay.historySince(since);
      history.events += counted.events;
      history.activities += counted.activities;
      history.actions += (await relay.actions()).all - actions.all;
    }
  }
  const peak = { worker: peakMb(worker.pid), bare: peakMb(lanes.plain.pid) };
  await relay.resume();
  await worker.stop();

  const thousands = (events * pairs) / 1_000;
  const speed = (name: keyof typeof runs) => median(runs[name].map(({ perSecond }) => perSecond));
  const cpu = (name: keyof typeof runs) => sum(runs[name].map((run) => run.cpuMs)) / thousands;
  const ratios = (to: 'plain' | 'same') =>
    runs.relay.map(({ perSecond }, index) => perSecond / (runs[to][index]?.perSecond ?? NaN));
  return {
    drain: {
      events,
      eventsPerSecond: speed('relay'),
      bareLoopEventsPerSecond: speed('plain'),
      bareLoopSamePublishEventsPerSecond: speed('same'),
      ratio: median(ratios('plain')),
      ratioSamePublish: median(ratios('same')),
      ratios: ratios('plain'),
      ratiosSamePublish: ratios('same'),
    },
    temporal: {
      historyEventsPer1000: history.events / thousands,
      activitiesPer1000: history.activities / thousands,
      actionsPer1000: history.actions / thousands,
    },
    cpu: {
      workerMsPer1000: cpu('relay'),
      bareLoopMsPer1000: cpu('plain'),
      bareLoopSamePublishMsPer1000: cpu('same'),
    },
    memory: { peakMb: peak.worker, bareLoopPeakMb: peak.bare },
  };
}
