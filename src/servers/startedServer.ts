import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { clearLeftover, forgetProcess, recordProcess } from './leftover';
import { freePort } from './ports';
import { gone, killTree, POLL_MS, signal } from './processes';
import type { Log, Server } from './server';
import { ServerError } from './serverError';

/** Time in which a server must answer; a PostgreSQL that recovers after a kill is the slow case. */
const READY_WITHIN_MS = 60_000;
/** What the three servers say, and what `requireFree` says. */
const PORT_TAKEN = /address already in use|is taken by another program|EADDRINUSE/i;
/** Time for an orderly end before SIGKILL. */
const STOP_WITHIN_MS = 10_000;
/** After these from `kill`, a server is on its way out. */
const ENDING_SIGNALS: ReadonlySet<NodeJS.Signals> = new Set(['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGABRT']);
/** A log past this size is moved aside at the next start. */
const LOG_LIMIT_BYTES = 16 * 1024 * 1024;

export interface Command {
  file: string;
  args: string[];
  uid?: number;
  gid?: number;
  /** Default: our own. */
  env?: NodeJS.ProcessEnv;
}

export interface StartedServerOptions {
  /** As a person reads it: `PostgreSQL`. */
  name: string;
  /** Names the files: `<directory>/<id>.pid`, `<directory>/logs/<id>.log`. */
  id: string;
  directory: string;
  /** Stands on the server's command line, which is how a leftover is known to be ours. */
  dataDirectory: string;
  url: string;
  /** The orderly end. */
  stopSignal: NodeJS.Signals;
  log: Log;
  /** Runs before every start, once no leftover of an earlier run is there: free ports, data directory. */
  prepare(): Promise<void>;
  command(): Command;
  /** Resolves when the server answers as it should; any error means not yet. */
  ready(): Promise<void>;
}

/**
 * Starts on `port`, or on a free one. What was free a moment ago can be taken when the server gets to it (by another
 * test run, say): then another one is tried, but never in place of a port that was asked for.
 */
export async function onFreePort<T>(port: number | undefined, start: (port: number) => Promise<T>): Promise<T> {
  if (port !== undefined) return start(port);
  for (let triesLeft = 4; ; triesLeft--) {
    try {
      return await start(await freePort());
    } catch (error) {
      if (triesLeft === 0 || !PORT_TAKEN.test((error as Error).message)) throw error;
    }
  }
}

/** Servers that run now; should this process exit without stopping them, they are told to end. */
const running = new Map<ChildProcess, NodeJS.Signals>();
process.on('exit', () => {
  for (const [child, stopSignal] of running) if (child.pid !== undefined) signal(child.pid, stopSignal);
});

/** A server as a child process, in a process group of its own: a Ctrl-C in the terminal reaches only us. */
export class StartedServer implements Server {
  readonly started = true;
  private child: ChildProcess | undefined;
  private ending = false;
  private logStart = 0;

  constructor(private readonly options: StartedServerOptions) {}

  get url(): string {
    return this.options.url;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  async start(): Promise<void> {
    if (this.child && !this.ending) return;
    // Told to end by `kill`, it may still be at it.
    await this.stop();
    const { id, directory, name, log, dataDirectory, stopSignal } = this.options;
    mkdirSync(join(directory, 'logs'), { recursive: true });
    await clearLeftover({ directory, id, name, dataDirectory, stopSignal, stopWithinMs: STOP_WITHIN_MS, log });
    await this.options.prepare();
    const child = this.spawn();
    try {
      await this.waitUntilReady(child);
    } catch (error) {
      await this.end(child, 'SIGKILL');
      throw error;
    }
  }

  async stop(): Promise<void> {
    if (this.child) await this.end(this.child, this.options.stopSignal);
  }

  async kill(name: NodeJS.Signals): Promise<void> {
    if (this.child?.pid === undefined) return;
    if (name === 'SIGKILL') return this.end(this.child, name);
    if (ENDING_SIGNALS.has(name)) this.ending = true;
    signal(this.child.pid, name);
  }

  private spawn(): ChildProcess {
    const { name, directory, id, stopSignal } = this.options;
    const { file, args, ...how } = this.options.command();
    this.ending = false;
    const output = this.openLog();
    const child = spawn(file, args, {
      ...how,
      // Not ours: a server under another user must be able to enter it.
      cwd: process.platform === 'win32' ? directory : '/',
      detached: true,
      windowsHide: true,
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    if (child.pid === undefined) {
      child.once('error', () => undefined);
      throw new ServerError(`${name} could not be started: ${file} cannot be run.`);
    }
    recordProcess({ directory, id, pid: child.pid });
    running.set(child, stopSignal);
    this.child = child;
    child.once('exit', (code, bySignal) => {
      running.delete(child);
      if (this.child === child) this.child = undefined;
      if (this.ending) return;
      this.options.log(`${name} ended (${bySignal ?? `exit code ${code}`}); its log is ${this.logFile}`);
    });
    // Whoever forgets to stop a server still gets to exit; the exit hook above then ends it.
    child.unref();
    return child;
  }

  private async waitUntilReady(child: ChildProcess): Promise<void> {
    const { name } = this.options;
    const end = performance.now() + READY_WITHIN_MS;
    for (;;) {
      const answer = await this.options.ready().then(
        () => 'ready' as const,
        (error: unknown) => error as Error,
      );
      if (hasExited(child)) throw this.failed(`${name} ended while it started`);
      if (answer === 'ready') return;
      if (performance.now() > end) {
        throw this.failed(`${name} did not answer within ${READY_WITHIN_MS / 1000} s (${answer.message})`);
      }
      await sleep(POLL_MS);
    }
  }

  private async end(child: ChildProcess, name: NodeJS.Signals): Promise<void> {
    this.ending = true;
    const { pid } = child;
    if (pid !== undefined && !hasExited(child)) {
      if (name !== 'SIGKILL') {
        signal(pid, name);
        // A server that was frozen with SIGSTOP reads the first signal only when it goes on.
        if (process.platform !== 'win32') signal(pid, 'SIGCONT');
      }
      if (name === 'SIGKILL' || !(await gone([pid], STOP_WITHIN_MS))) await killTree(pid);
      // Not its event: the child does not keep this process alive, and this wait must.
      while (!hasExited(child)) await sleep(POLL_MS);
    }
    forgetProcess(this.options);
  }

  private get logFile(): string {
    return join(this.options.directory, 'logs', `${this.options.id}.log`);
  }

  private openLog(): number {
    if (existsSync(this.logFile) && statSync(this.logFile).size > LOG_LIMIT_BYTES) {
      renameSync(this.logFile, `${this.logFile}.old`);
    }
    const file = openSync(this.logFile, 'a', 0o644);
    this.logStart = statSync(this.logFile).size;
    return file;
  }

  private failed(what: string): ServerError {
    const written = readFileSync(this.logFile).subarray(this.logStart).toString('utf8').trim() || '(nothing)';
    const last = written.split('\n').slice(-8);
    // Temporal writes whole dependency graphs into one line.
    const lines = last.map((line) => line.slice(0, 400));
    return new ServerError(`${what}; the end of its log ${this.logFile}:\n  ${lines.join('\n  ')}`);
  }
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
