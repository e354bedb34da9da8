import { setTimeout as sleep } from 'node:timers/promises';
import { check } from './checker/check';
import type { History, Violation } from './checker/history';
import { now } from './clock';
import { collectHistory } from './collectHistory';
import type { Strike } from './diary';
import type { Fault, Scene } from './faults/fault';
import { planOf, textOf, type Step } from './plan';
import { Random } from './random';
import { atRest } from './rest';
import type { World } from './world/world';

export interface StormOptions {
  readonly faults: readonly Fault[];
  readonly seed: number;
  /** How long faults strike. */
  readonly lastsMs: number;
  readonly short: boolean;
  /** How long to wait afterwards for what is still open. */
  readonly patienceMs: number;
  /** Gives up sooner, when nothing has changed for so long. */
  readonly stagnantMs?: number | undefined;
}

export interface Outcome {
  readonly start: number;
  /** From here on no fault struck, and no event was written. */
  readonly calm: number;
  readonly rested: boolean;
  readonly strikes: readonly Strike[];
  /** Ends of workers that no fault had asked for. */
  readonly ownEnds: number;
  readonly history: History;
  readonly violations: readonly Violation[];
}

const READY_WITHIN_MS = 120_000;
const CALM_BEFORE_MS = 2_000;
/** A worker that cannot start, as something is away, is no reason to wait for ever. */
const SETTLES_WITHIN_MS = 15_000;

/** Lets a storm loose on an open world, waits until it is over, and checks what it has left. */
export async function storm(world: World, options: StormOptions): Promise<Outcome> {
  const { say, backend, workers, producers } = world.options;
  const scene: Scene = { backend, workers, producers, leaseMs: world.timings.ledgerLeaseMs, short: options.short };
  await start(world);
  const begun = now();
  await sleep(CALM_BEFORE_MS);
  const end = now() + options.lastsMs;
  for (const step of planOf(new Random(options.seed), options.faults, scene)) {
    if (step.settled) await allReady(world, Math.min(SETTLES_WITHIN_MS, end - now()));
    await sleep(Math.max(0, Math.min(step.afterMs, end - now())));
    if (now() >= end) break;
    say(textOf(step));
    await strike(world, step);
  }
  await Promise.all(world.producers.map(({ child }) => child.stop(5_000)));
  const calm = now();
  const rested = await atRest(world, options);
  const ownEnds = world.workers.reduce((sum, { child }) => sum + child.ownEnds.length, 0);
  await Promise.all(world.workers.map(({ child }) => child.stop(15_000)));
  const history = await collectHistory(world);
  say(`checking ${history.business.length} events`);
  return { start: begun, calm, rested, strikes: world.diary.strikes, ownEnds, history, violations: check(history) };
}

/** A world at work: all workers are ready, and events are written. */
async function start(world: World): Promise<void> {
  for (const { child } of world.workers) child.start();
  if (!(await allReady(world, READY_WITHIN_MS)))
    throw new Error('the workers were not ready in time; with --keep their logs say why');
  for (const { child } of world.producers) child.start();
}

async function allReady({ workers }: World, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (!workers.every(({ child }) => child.ready)) {
    if (performance.now() > end) return false;
    await sleep(50);
  }
  return true;
}

/** A fault that cannot strike, since another is in its way, is no failure of the storm: what it did is healed by itself. */
async function strike(world: World, { aims }: Step): Promise<void> {
  const { diary, options } = world;
  await Promise.all(
    aims.map(async ({ name, what, strike: begin }) => {
      let failed: string | undefined;
      const entry = await diary.span(diary.strikes, { name, what }, async () => {
        await begin(world).catch((error: unknown) => (failed = (error as Error).message));
      });
      if (failed === undefined) return;
      entry.failed = failed;
      options.say(`${name} failed: ${failed.split('\n')[0]}`);
    }),
  );
}
