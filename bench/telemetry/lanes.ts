import { join } from 'node:path';
import { Relay } from '../relay';
import type { Rig } from '../rig';
import type { Lane } from '../lane';
import type { WorkerProcess } from '../worker';

/**
 * What switches a worker's telemetry off. Hooks for traces have no setting, since without an SDK of OpenTelemetry they do
 * next to nothing: how much that is, is to be seen, so here they are taken out of the build as it is loaded.
 */
const OFF = { OUTBOX_METRICS_ADDRESS: 'off', NODE_OPTIONS: `--import "${join(__dirname, 'untraced.mjs')}"` };
const ON = { OUTBOX_METRICS_ADDRESS: '127.0.0.1:0' };

/** One worker with its own schema, stream and relay, so that two of them can stay warm beside each other. */
export interface TelemetryLane extends Lane {
  /** The rig as this lane has it: its own tables and its own stream. */
  readonly rig: Pick<Rig, 'config' | 'db' | 'nats' | 'manager'>;
  /** Where its metrics are served; undefined when they are off. */
  readonly endpoint: string | undefined;
  stop(): Promise<void>;
}

export async function openLanes(rig: Rig): Promise<{ on: TelemetryLane; off: TelemetryLane }> {
  return { on: await open(rig, 'bench_on', ON), off: await open(rig, 'bench_off', OFF) };
}

async function open(rig: Rig, schema: string, switches: NodeJS.ProcessEnv): Promise<TelemetryLane> {
  const settings = { ...switches, OUTBOX_SCHEMA: schema, OUTBOX_STREAM: schema, OUTBOX_SUBJECT_PREFIX: schema };
  const own = await rig.schema(settings);
  const worker = await rig.worker(settings);
  const relay = new Relay(rig.temporal, own.config.relayWorkflowId, 0);
  await relay.pause();
  return {
    rig: { ...own, nats: rig.nats, manager: rig.manager },
    pid: worker.pid,
    endpoint: endpointOf(worker),
    start: () => relay.resume(),
    rest: () => relay.pause(),
    stop: () => worker.stop(),
  };
}

function endpointOf({ log }: WorkerProcess): string | undefined {
  return /http:\/\/[\d.:]+(?=\/metrics)/.exec(log)?.[0];
}
