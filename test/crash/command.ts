import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Settings } from '../support/outbox';
import type { CrashWorld } from './world';

export interface Ended {
  /** Null after a signal. */
  readonly code: number | null;
  readonly output: string;
}

/** Runs the built command to its end, which may be a point of its work. */
export async function runCommand(world: CrashWorld, args: readonly string[], settings: Settings = {}): Promise<Ended> {
  const outside = Object.entries(process.env).filter(
    ([name]) => !/^(OUTBOX_|NATS_|TEMPORAL_|DATABASE_URL|EVENT_)/.test(name),
  );
  const child = spawn(process.execPath, [join(__dirname, '..', '..', 'dist', 'cli.js'), ...args], {
    env: { ...Object.fromEntries(outside), ...world.outbox.settings, ...settings, ...world.preload },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
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
