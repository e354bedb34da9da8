import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../../../test/support/eventually';
import { withoutAddresses } from './environment';

const ROOT = join(__dirname, '..', '..');
const PROBE = join(__dirname, 'loadedFiles.ts');

/** The application's server or worker as it runs in production: a process of its own, known from outside only. */
export class DiaryProcess {
  private output = '';
  private readonly exited: Promise<number | null>;

  private constructor(
    private readonly child: ChildProcess,
    private readonly report: string,
  ) {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    this.exited = new Promise((resolve) => child.once('close', (code) => resolve(code)));
  }

  /** @param directory for what the probe reports */
  static async start(
    entry: 'server' | 'worker',
    env: Readonly<Record<string, string>>,
    directory: string,
  ): Promise<DiaryProcess> {
    const report = join(directory, `${entry}.json`);
    const child = spawn(process.execPath, [join(ROOT, 'src', `${entry}.ts`)], {
      cwd: ROOT,
      env: {
        ...withoutAddresses(process.env),
        ...env,
        NODE_OPTIONS: `--require tsx/cjs --require ${PROBE}`,
        LOADED_FILES: report,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const started = new DiaryProcess(child, report);
    try {
      await started.ready(`The ${entry} is ready`);
    } catch (error) {
      await started.stop('SIGKILL');
      throw error;
    }
    return started;
  }

  private ready(line: string): Promise<unknown> {
    return eventually(() => this.output.includes(line) || this.child.exitCode !== null, 120_000, line).then(() => {
      if (!this.output.includes(line)) throw new Error(`The process ended: ${this.output}`);
    });
  }

  /** Every file whose code is in the process, by its path. */
  async loaded(): Promise<string[]> {
    rmSync(this.report, { force: true });
    this.child.kill('SIGUSR2');
    return eventually(() => JSON.parse(readFileSync(this.report, 'utf8')) as string[], 60_000, 'the report');
  }

  /** @returns the exit code; null when the signal ended it */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    return this.exited;
  }
}
