import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { endChild, watchOver } from '../../bench/children';
import type { Diary } from '../diary';

const RESTART_AFTER_MS = 500;

export interface Command {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** What it writes to its standard error goes there, for whoever wants to know why. */
  readonly log: string;
  /** In what it writes: from now on it is at work. */
  readonly ready: string;
}

/** A process that is started again whenever it ends, as a deployment does it, until `stop`. */
export class Child {
  private process: ChildProcess | undefined;
  private ended: Promise<void> = Promise.resolve();
  private stopping = false;
  private restart: NodeJS.Timeout | undefined;
  private isReady = false;
  /** Ends that nobody here had asked for. */
  readonly ownEnds: string[] = [];
  private asked = false;

  constructor(
    readonly command: Command,
    private readonly diary: Diary,
  ) {}

  get pid(): number | undefined {
    return this.process?.pid;
  }

  /** It runs, and has said so. */
  get ready(): boolean {
    return this.isReady;
  }

  start(): void {
    if (this.stopping) return;
    const { args, env, log, ready } = this.command;
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = watchOver(child);
    if (child.pid !== undefined) this.diary.names.set(child.pid, this.command.name);
    this.process = child;
    this.isReady = false;
    this.asked = false;
    this.ended = ended;
    const file = createWriteStream(log, { flags: 'a' });
    file.write(`--- process ${child.pid ?? '?'}\n`);
    let written = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      file.write(text);
      if (this.isReady) return;
      written = (written + text).slice(-10_000);
      this.isReady = written.includes(ready);
    });
    void ended.then(() => {
      file.end();
      const asked = this.process === child && (this.asked || this.stopping);
      if (child.pid !== undefined) this.diary.died(child.pid, child.signalCode !== null && !asked);
      if (this.process !== child) return;
      this.isReady = false;
      if (!this.asked && !this.stopping) this.ownEnds.push(`${child.exitCode ?? child.signalCode ?? 'not started'}`);
      if (!this.stopping) this.restart = setTimeout(() => this.start(), RESTART_AFTER_MS);
    });
  }

  /**
   * SIGKILL; it is over when this resolves, and another comes soon.
   *
   * @throws as do the others, when nothing runs: a fault that meets nobody must not count
   */
  async kill(): Promise<void> {
    const { child, pid, ended } = this.running();
    this.diary.died(pid, !this.asked);
    this.asked = true;
    child.kill('SIGKILL');
    await ended;
  }

  /** SIGTERM; resolves when it has ended. */
  async terminate(graceMs: number): Promise<void> {
    const { child, ended } = this.running();
    this.asked = true;
    await endChild(child, ended, graceMs);
  }

  /** SIGSTOP for as long as `wait` takes. */
  async freeze(wait: () => Promise<void>): Promise<void> {
    const { child, pid } = this.running();
    await this.diary.span(this.diary.freezes, { pid }, async () => {
      try {
        child.kill('SIGSTOP');
        await wait();
      } finally {
        child.kill('SIGCONT');
      }
    });
  }

  /** Ends it for good. Safe to repeat. */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    clearTimeout(this.restart);
    if (this.process && isRunning(this.process)) {
      this.process.kill('SIGCONT');
      await this.terminate(graceMs);
    }
  }

  private running() {
    const { process: child, ended } = this;
    if (child?.pid === undefined || !isRunning(child)) throw new Error(`${this.command.name} does not run`);
    return { child, pid: child.pid, ended };
  }
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}
