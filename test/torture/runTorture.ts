import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Verdict } from '../../torture/mutate';
import type { Figures } from '../../torture/report/figures';

const ROOT = join(__dirname, '..', '..');

export interface TortureRun {
  readonly code: number | null;
  readonly storms: readonly Figures[];
  readonly mutants: readonly Verdict[];
  /** What it said to people: the plan, stories of violations, and the table. */
  readonly said: string;
}

/** As `npm run torture -- …` does it. */
export function torture(...args: string[]): Promise<TortureRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--require', 'tsx/cjs', 'torture/main.ts', ...args, '--json'], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let answer = '';
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (answer += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.once('error', reject);
    child.once('close', (code) => {
      const result = (answer === '' ? {} : JSON.parse(answer)) as Partial<TortureRun>;
      resolve({ code, storms: result.storms ?? [], mutants: result.mutants ?? [], said });
    });
  });
}
