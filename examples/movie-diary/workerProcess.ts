import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

/** A worker stops within its grace of 20 s, and a little for closing; then it hangs. */
const STOP_TIMEOUT_MS = 26_000;

export interface WorkerProcess {
  /** Resolves when the worker polls; rejects with its last words when it ends before that. */
  readonly ready: Promise<void>;
  /** Resolves when it has ended, for whatever reason, with how it did. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
  kill(): void;
}

/**
 * What the environment does not say otherwise: with the defaults, 10 attempts that end up 5 minutes apart, a dead letter
 * takes 20 minutes.
 */
export const QUICK_SETTINGS = Object.freeze({
  EVENT_QUEUE_MAX_ATTEMPTS: '5',
  OUTBOX_BACKOFF_FIRST_MS: '500',
  OUTBOX_BACKOFF_MAX_MS: '2000',
  // Finds what was re-emitted through the database alone.
  OUTBOX_SWEEP_MS: '1000',
});

/** This application's worker as a process of its own, as in production; its log goes to `logFile`. */
export function startWorker(logFile: string, env: NodeJS.ProcessEnv): WorkerProcess {
  mkdirSync(dirname(logFile), { recursive: true });
  const log = createWriteStream(logFile, { flags: 'a' });
  const program = ['--require', require.resolve('tsx/cjs'), join(__dirname, 'worker.ts')];
  // In a process group of its own: the terminal's Ctrl-C is for us, who stop things in order.
  const child = spawn(process.execPath, program, {
    env: { ...QUICK_SETTINGS, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let lastLine = 'it said nothing';
  // Should a fault of ours end this process, the worker must not outlive it: it would go on with the next run's servers.
  const endWithUs = () => void child.kill('SIGTERM');
  process.once('exit', endWithUs);

  const ready = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      lastLine = messageOf(line);
      log.write(`${line}\n`);
      if (lastLine === 'The worker is ready') resolve();
    });
    child.once('exit', () => reject(new Error(`The worker ended at its start: ${lastLine} (its log is ${logFile})`)));
    child.once('error', reject);
  });
  ready.catch(() => undefined);
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      process.off('exit', endWithUs);
      resolve(`${signal ?? `exit code ${code}`}, its last line: ${lastLine} (its log is ${logFile})`);
    });
  }).finally(() => log.end());
  return { ready, ended, stop: () => stop(child, ended), kill: () => void child.kill('SIGKILL') };
}

async function stop(child: ChildProcess, ended: Promise<string>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}

function messageOf(line: string): string {
  try {
    return (JSON.parse(line) as { msg?: string }).msg ?? line;
  } catch {
    return line;
  }
}
