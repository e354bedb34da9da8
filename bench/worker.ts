import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { OUTBOX, WORKER } from './build';
import { endChild, watchOver } from './children';

const READY = 'The worker is ready';
const READY_WITHIN_MS = 60_000;
/** The worker's own grace of 20 s and its forced end after it. */
const STOP_WITHIN_MS = 30_000;

/** The built worker as a process of its own, as a user runs it. */
export class WorkerProcess {
  /** What it wrote until it was ready. */
  log = '';

  private constructor(
    private readonly child: ChildProcess,
    private readonly ended: Promise<void>,
  ) {}

  /**
   * @param logFile takes what the worker writes, for whoever wants to know why
   * @param handlers a module of handlers; without it the worker only publishes
   */
  static async start(
    env: NodeJS.ProcessEnv,
    logFile: string,
    { nodeArguments = [], handlers }: { nodeArguments?: readonly string[]; handlers?: string | undefined } = {},
  ): Promise<WorkerProcess> {
    const command = handlers === undefined ? [WORKER] : [OUTBOX, 'worker', '--handlers', handlers];
    const child = spawn(process.execPath, [...nodeArguments, ...command], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const worker = new WorkerProcess(child, watchOver(child));
    const log = createWriteStream(logFile, { flags: 'a' });
    let written = '';
    child.stderr.setEncoding('utf8').pipe(log);
    await new Promise<void>((resolve, reject) => {
      const failed = (why: string) => reject(new Error(`${why}; it wrote:\n${written.trim()}`));
      const late = setTimeout(() => failed(`The worker was not ready within ${READY_WITHIN_MS} ms`), READY_WITHIN_MS);
      const listen = (text: string) => {
        worker.log = written += text;
        if (!written.includes(READY)) return;
        clearTimeout(late);
        child.stderr.off('data', listen);
        resolve();
      };
      child.stderr.on('data', listen);
      void worker.ended.then(() => failed(`The worker ended with ${child.exitCode ?? child.signalCode ?? 'an error'}`));
    });
    return worker;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** As a deployment stops it. Safe to call when it is over already. */
  stop(): Promise<void> {
    return endChild(this.child, this.ended, STOP_WITHIN_MS);
  }

  /** As a crash ends it; resolves when it is gone. */
  kill(): Promise<void> {
    this.child.kill('SIGKILL');
    return this.ended;
  }
}
