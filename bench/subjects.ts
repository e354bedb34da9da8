import { claim } from './claim';
import { drain } from './drain';
import { merged, type Backend, type Figures } from './figures';
import { drain as drainHandled } from './handlers/drain';
import { failing } from './handlers/failing';
import { latency as effectLatency } from './handlers/latency';
import { recovery as handlerRecovery } from './handlers/recovery';
import { Stage } from './handlers/stage';
import { storm } from './handlers/storm';
import { idle } from './idle';
import { latency } from './latency';
import { prune } from './prune';
import { recovery } from './recovery';
import type { Rig } from './rig';
import { cost } from './telemetry/cost';
import { memory } from './telemetry/memory';
import { start } from './telemetry/start';

/** What can be measured. Parts run in the order given here, whatever was asked for first. */
const RELAY = { drain, latency, idle, recovery, claim };
const HANDLERS = { drain: drainHandled, latency: effectLatency, failing, storm, recovery: handlerRecovery };

const TELEMETRY = { cost, start, memory };
const PRUNE = { ledger: prune };

export const PARTS = {
  relay: Object.keys(RELAY),
  handlers: Object.keys(HANDLERS),
  telemetry: Object.keys(TELEMETRY),
  prune: Object.keys(PRUNE),
};
export type Subject = keyof typeof PARTS;
export const BACKENDS: readonly Backend[] = ['db', 'nats'];

export interface Wanted {
  readonly subject: Subject;
  /** Names of parts; none means all. */
  readonly only: readonly string[] | undefined;
  /** For handlers only. */
  readonly backends: readonly Backend[];
}

/** Starts servers of their own, with these settings for all workers. */
export type OpenRig = (settings?: NodeJS.ProcessEnv) => Promise<Rig>;

/**
 * @param describe figures about the machine, taken once
 */
export async function measure(
  wanted: Wanted,
  openRig: OpenRig,
  describe: (rig: Rig) => Promise<Record<string, unknown>>,
): Promise<Figures> {
  let figures: Figures = {};
  const isWanted = ([name]: [string, unknown]) => wanted.only?.includes(name) ?? true;
  if (wanted.subject === 'relay' || wanted.subject === 'prune') {
    const rig = await openRig();
    figures = { machine: await describe(rig) };
    const parts: Record<string, (rig: Rig) => Promise<Figures>> = wanted.subject === 'relay' ? RELAY : PRUNE;
    for (const [name, part] of Object.entries(parts).filter(isWanted)) {
      rig.say(`${name} …`);
      figures = merged(figures, await part(rig));
    }
    return figures;
  }
  if (wanted.subject === 'telemetry') {
    const rig = await openRig();
    figures = { machine: await describe(rig) };
    for (const [name, part] of Object.entries(TELEMETRY).filter(isWanted)) {
      rig.say(`${name} …`);
      figures = merged(figures, { telemetry: await part(rig) });
    }
    return figures;
  }
  // Servers of its own for each backend: a relay is bound to the one that it was started with.
  for (const backend of wanted.backends) {
    const rig = await openRig({ EVENT_BUS_BACKEND: backend });
    figures.machine ??= await describe(rig);
    const stage = await Stage.set(rig, backend);
    for (const [name, part] of Object.entries(HANDLERS).filter(isWanted)) {
      stage.say(`${name} …`);
      figures = merged(figures, { [backend]: await part(stage) });
    }
    await rig.stop();
  }
  return figures;
}
