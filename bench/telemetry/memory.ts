import { fork } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../build';
import { endChild, watchOver } from '../children';
import { startAfresh } from '../fill';
import type { Rig } from '../rig';
import { residentMb } from '../usage';
import { watchDrain } from '../watchDrain';

const EVENTS = 1_000_000;
/** Enough for a start's garbage to be collected, or to show that it is not. */
const IDLE_MS = 20_000;
const SAMPLE_MS = 250;
const DRAINED_WITHIN_MS = 30 * 60_000;
/** A payload of 1 KB. */
const NOTE_HASHES = 30;

/** What a worker holds, idle and while it drains a backlog, beside a worker of Temporal's SDK that does nothing. */
export async function memory(rig: Rig): Promise<Record<string, unknown>> {
  const events = rig.events ?? (rig.quick ? 50_000 : EVENTS);
  const idleMs = rig.quick ? 5_000 : IDLE_MS;
  await startAfresh(rig);
  const bareIdleMb = await bare(rig, idleMs);
  const worker = await rig.worker();
  await sleep(idleMs);
  const idleMb = residentMb(worker.pid);
  rig.say(`memory: idle ${Math.round(idleMb)} MiB, a bare SDK worker ${Math.round(bareIdleMb)} MiB`);
  await rig.relay.pause();
  rig.say(`memory: writing ${events} events of 1 KB`);
  await startAfresh(rig, events, NOTE_HASHES);
  const samples: number[] = [];
  const timer = setInterval(() => samples.push(residentMb(worker.pid)), SAMPLE_MS);
  const observer = rig.database(1, { enable_seqscan: 'off' });
  const ms = await watchDrain(observer, () => rig.relay.resume(), DRAINED_WITHIN_MS);
  clearInterval(timer);
  await observer.close();
  await worker.stop();
  // Once the heap has found its size.
  const settled = samples.slice(Math.floor(samples.length / 4));
  const half = Math.floor(settled.length / 2);
  const most = (part: readonly number[]) => Math.max(...part);
  return {
    memoryEvents: events,
    bareIdleMb,
    idleMb,
    idleAboveBareMb: idleMb - bareIdleMb,
    drainingPeakMb: most(samples),
    drainingPeakAboveBareMb: most(samples) - bareIdleMb,
    /** What the second half of the drain holds more than the first, at most. */
    drainingGrowthMb: most(settled.slice(half)) - most(settled.slice(0, half)),
    memoryEventsPerSecond: (events / ms) * 1_000,
  };
}

async function bare(rig: Rig, idleMs: number): Promise<number> {
  const bundle = join(ROOT, 'dist', 'workflow-bundle.js');
  // Plain JavaScript without the transpiler that runs the bench, which would be counted.
  const child = fork(join(__dirname, 'bareWorker.mjs'), {
    env: rig.environment({ BENCH_BUNDLE: bundle }),
    execArgv: [],
  });
  const ended = watchOver(child);
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    void ended.then(() => reject(new Error('the bare worker ended')));
  });
  await sleep(idleMs);
  const mb = residentMb(child.pid ?? 0);
  await endChild(child, ended, 5_000);
  return mb;
}
