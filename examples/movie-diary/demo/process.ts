import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';

export interface ChildOptions {
  /** As it is named to people. */
  readonly name: string;
  readonly script: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  /** The line, or the message of a JSON line, on stderr that says that it is ready. */
  readonly readyLine: string;
  /** It stops within its grace, and a little for closing; then it hangs and is killed. */
  readonly stopTimeoutMs: number;
}

export interface Child {
  readonly name: string;
  readonly pid: number | undefined;
  /** Resolves when it is ready; rejects with its last words when it ends before that. */
  readonly ready: Promise<void>;
  /** Resolves when it has ended, for whatever reason, with how it did. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
  kill(): void;
}

/** A part of the application as a process of its own, as in production; what it says goes to its log. */
export function startChild(options: ChildOptions): Child {
  const { name, script, env, logFile, readyLine } = options;
  mkdirSync(dirname(logFile), { recursive: true });
  const log = createWriteStream(logFile, { flags: 'a' });
  // In a process group of its own: the terminal's Ctrl-C is for us, who stop things in order.
  const child = spawn(process.execPath, ['--require', require.resolve('tsx/cjs'), script], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let lastLine = 'it said nothing';
  // Should a fault of ours end this process, the child must not outlive it and go on with the next run's servers.
  const endWithUs = () => void child.kill('SIGTERM');
  process.once('exit', endWithUs);

  const ready = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      lastLine = messageOf(line);
      log.write(`${line}\n`);
      if (lastLine === readyLine) resolve();
    });
    child.once('exit', () => reject(new Error(`The ${name} ended at its start: ${lastLine} (its log is ${logFile})`)));
    child.once('error', reject);
  });
  ready.catch(() => undefined);
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      process.off('exit', endWithUs);
      // Killed from outside, it had no last word: whatever it said last is about something else.
      const how = signal === null ? `with exit code ${code}, its last line: ${lastLine}` : `by ${signal}`;
      resolve(`${how} (its log is ${logFile})`);
    });
  }).finally(() => log.end());
  return {
    ...{ name, pid: child.pid, ready, ended },
    stop: () => stop(child, ended, options.stopTimeoutMs),
    kill: () => void child.kill('SIGKILL'),
  };
}

async function stop(child: ChildProcess, ended: Promise<string>, timeoutMs: number): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
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
