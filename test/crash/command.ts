import type { Settings } from '../support/outbox';
import { runCli } from '../support/runCli';
import type { CrashWorld } from './world';

export interface Ended {
  /** Null after a signal. */
  readonly code: number | null;
  readonly output: string;
  /** Of that, what is for programs. */
  readonly stdout: string;
}

/** Runs the built command to its end, which may be a point of its work. */
export async function runCommand(world: CrashWorld, args: readonly string[], settings: Settings = {}): Promise<Ended> {
  const { code, stdout, stderr } = await runCli(args, { ...world.outbox.settings, ...settings, ...world.preload });
  return { code, output: stdout + stderr, stdout };
}

/** Plans the death of a command, runs it, and fails when it has not come to that point. @returns its death */
export async function killCommand(
  world: CrashWorld,
  fault: Parameters<CrashWorld['plan']>[0],
  args: readonly string[],
  settings: Settings = {},
): Promise<void> {
  const death = world.plan(fault);
  try {
    const { code, output } = await runCommand(world, args, settings);
    if (code !== null) throw new Error(`it was never killed ${fault.when} ${fault.name}, and said: ${output}`);
    await death();
  } finally {
    world.remove('plan.json');
  }
}
