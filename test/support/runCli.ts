import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

export interface CliResult {
  /** Null after a signal. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Nothing listens there, and a connection is refused at once. */
const NOWHERE = '127.0.0.1:1';

/**
 * The built command, with nothing of the caller's settings but what `env` gives. Built, as the workers that tests spawn:
 * from the sources each of some hundreds of calls would take twice the CPU time.
 */
export function spawnCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  program: 'cli.js' | 'worker.js' = 'cli.js',
): ChildProcess {
  const outside = Object.entries(process.env).filter(
    ([name]) => !/^(OUTBOX_|NATS_|TEMPORAL_|DATABASE_URL|EVENT_|FORCE_COLOR|NODE_OPTIONS|CI$)/.test(name),
  );
  return spawn(process.execPath, [join('dist', program), ...args], {
    cwd: join(__dirname, '..', '..'),
    env: {
      ...Object.fromEntries(outside),
      DATABASE_URL: `postgres://nobody:S3CRET@${NOWHERE}/none`,
      NATS_URL: `nats://S3CRET@${NOWHERE}`,
      TEMPORAL_ADDRESS: NOWHERE,
      ...env,
    },
    stdio: 'pipe',
  });
}

/** Runs the command to its end. */
export async function runCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdin = '',
): Promise<CliResult> {
  const child = spawnCli(args, env);
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // A command that ends before it has read everything closes the pipe.
  child.stdin?.on('error', () => undefined).end(stdin);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}
